"""What a file of keys may hold, and that no complaint shows a secret."""

from base64 import b64encode

import pytest

from penstock.core.sealing.keys import Key, KeyFault, file_secret, read_keys

ONE, OTHER = bytes(range(32)), bytes(32)
TEXT = f"# made in March\nmarch {b64encode(ONE).decode()}\n\n april\t{b64encode(OTHER).decode()} \n"


def test_the_last_key_seals_and_all_open() -> None:
    ring = read_keys(TEXT, "keys")
    assert ring.newest == Key("april", OTHER)
    assert ring.find("march") == Key("march", ONE)
    assert ring.find("may") is None
    assert ring.ids == ("march", "april")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "there is no key in FILE"),
        ("# nothing", "there is no key in FILE"),
        ("march c2hvcnQ=", "line 1 of FILE is no key"),
        ("# x\nmarch", "line 2 of FILE is no key"),
        (b64encode(ONE).decode(), "line 1 of FILE is no key"),
        (f"{'m' * 21} {b64encode(ONE).decode()}", "line 1 of FILE is no key"),
        (f"märz {b64encode(ONE).decode()}", "line 1 of FILE is no key"),
        ("march !!!!", "line 1 of FILE is no key"),
        (TEXT + TEXT, "line 6 of FILE names the key march again"),
    ],
)
def test_what_is_no_key_is_named_by_its_line(text: str, complaint: str) -> None:
    with pytest.raises(KeyFault) as fault:
        read_keys(text, "FILE")
    assert str(fault.value).startswith(complaint)
    assert "\n" not in str(fault.value)
    assert b64encode(ONE).decode() not in str(fault.value)


def test_a_key_that_is_no_longer_given_stays_for_what_it_sealed() -> None:
    before, after = read_keys(TEXT, "keys"), read_keys(f"may {b64encode(ONE).decode()}", "keys")
    assert before.other_than(after) == []
    assert before.other_than(read_keys(f"march {b64encode(OTHER).decode()}", "keys")) == ["march"]
    joined = before.joined(after)
    assert joined.newest.id == "may"
    assert set(joined.ids) == {"march", "april", "may"}


def test_a_key_is_never_shown_and_files_have_keys_of_their_own() -> None:
    key = Key("march", b"0123456789abcdef0123456789abcdef")
    assert "0123" not in repr(key) + str([key])
    assert len({file_secret(key, salt) for salt in (b"a" * 16, b"b" * 16)}) == 2
    assert key.secret not in (file_secret(key, b"a" * 16),)
