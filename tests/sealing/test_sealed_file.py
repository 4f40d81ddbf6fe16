"""A sealed file is held to a naive twin, a plain one, through every order of appends, cuts, reads and openings."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.sealing import frames, nonces, sealed_file
from penstock.core.sealing.finding import Extent
from penstock.core.sealing.frames import HEAD_BYTES, OVERHEAD_BYTES, PAGE_BYTES
from penstock.core.sealing.keys import KeyFault
from penstock.core.sealing.sealed_file import HeadDamaged
from tests.examples import examples
from tests.sealing.kept import Kept, seals

SIZES = st.one_of(
    st.integers(1, 300),
    st.integers(1, 3 * PAGE_BYTES),
    st.sampled_from([PAGE_BYTES - HEAD_BYTES - OVERHEAD_BYTES + more for more in range(-2 * OVERHEAD_BYTES - 2, 3)]),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), SIZES),
        st.tuples(st.just("truncate"), st.floats(0, 1)),
        st.tuples(st.just("read"), st.floats(0, 1)),
        st.tuples(st.just("open"), st.just(0)),
    ),
    max_size=30,
)


def text(seed: int, size: int) -> bytes:
    """Bytes that are nowhere the same, so that a wrong position shows."""
    return b"".join(b"%08d" % (seed * 1_000_003 + at) for at in range(size // 8 + 1))[:size]


@given(STEPS)
@examples(150)
def test_a_sealed_file_reads_as_a_plain_one(steps: list[tuple[str, float]]) -> None:
    kept, plain = Kept(), bytearray()
    for number, (what, how) in enumerate(steps):
        if what == "append":
            data = text(number, int(how))
            kept.append(data)
            plain += data
        elif what == "truncate":
            size = int(how * len(plain))
            kept.truncate(size)
            del plain[size:]
        elif what == "open":
            kept.open()
        else:
            at = int(how * len(plain))
            assert kept.read(at, 1000) == plain[at : at + 1000]
        assert kept.file.end == len(plain)
    assert kept.read() == plain
    kept.open()
    assert kept.read() == plain


@given(st.lists(st.integers(1, 400), min_size=100, max_size=600), st.data())
@examples(10)
def test_any_position_of_a_file_of_many_pages_is_found_in_a_few_looks(sizes: list[int], data: st.DataObject) -> None:
    kept = Kept()
    for number, size in enumerate([*sizes, 200_000, *sizes, *[1] * 4000]):
        kept.append(text(number, size))
    plain = kept.read()
    for _ in range(20):
        at = data.draw(st.integers(0, len(plain) - 1))
        assert kept.read(at, 10) == plain[at : at + 10]


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=12), st.data())
@examples(60)
def test_a_file_cut_at_any_byte_holds_a_whole_number_of_frames_and_goes_on(
    sizes: list[int], data: st.DataObject
) -> None:
    kept, ends = Kept(), [0]
    plain = b""
    for number, size in enumerate(sizes):
        kept.append(text(number, size))
        plain += text(number, size)
        ends.append(len(plain))
    at = data.draw(st.integers(0, len(kept.disk)))
    del kept.disk[at:]
    kept.open()
    assert kept.file.end in ends
    assert kept.read() == plain[: kept.file.end]
    kept.append(b"and on")
    kept.open()
    assert kept.read() == plain[: kept.file.end - 6] + b"and on"


def test_a_large_append_that_was_torn_keeps_its_first_pages() -> None:
    kept, data = Kept(), text(1, 5 * PAGE_BYTES)
    kept.append(data)
    for at in range(0, len(kept.disk), 9_973):
        torn = Kept()
        torn.disk[:] = kept.disk[:at]
        torn.open()
        found = torn.read()
        assert data.startswith(found)
        assert at - len(found) < PAGE_BYTES + HEAD_BYTES + 5 * OVERHEAD_BYTES


@given(st.lists(st.integers(1, 40_000), min_size=1, max_size=12), st.data())
@examples(100)
def test_a_flipped_bit_costs_what_it_hits_and_is_never_taken_for_a_torn_end(
    sizes: list[int], data: st.DataObject
) -> None:
    """Bytes are right or zeros; nothing moves; no byte is missing, unless it was in the length of the last frame."""
    kept = Kept()
    for number, size in enumerate(sizes):
        kept.append(text(number + 1, size))
    plain = kept.read()
    at = data.draw(st.integers(HEAD_BYTES, len(kept.disk) - 1))
    kept.disk[at] ^= 1 << data.draw(st.integers(0, 7))
    kept.open()
    found = kept.read()
    assert len(found) >= len(plain)
    wrong = [place for place, (was, now) in enumerate(zip(plain, found, strict=False)) if was != now]
    assert all(found[place] == 0 for place in wrong)
    assert not any(found[len(plain) :])
    if wrong:
        assert wrong[-1] - wrong[0] < PAGE_BYTES


@given(st.lists(st.integers(1, 40_000), min_size=1, max_size=8), st.data())
@examples(60)
def test_a_damaged_file_goes_on(sizes: list[int], data: st.DataObject) -> None:
    kept = Kept()
    for number, size in enumerate(sizes):
        kept.append(text(number + 1, size))
    at = data.draw(st.integers(HEAD_BYTES, len(kept.disk) - 1))
    kept.disk[at] ^= 0x55
    kept.open()
    found = kept.read()
    kept.append(b"behind it")
    assert kept.read() == found + b"behind it"
    kept.open()
    assert kept.read() == found + b"behind it"
    size = data.draw(st.integers(1, len(found)))
    kept.truncate(size)
    assert kept.read() == found[:size]
    kept.append(b"again")
    kept.open()
    assert kept.read() == found[:size] + b"again"


def test_pages_that_power_loss_took_read_as_zeros_up_to_the_next_good_one() -> None:
    kept, data = Kept(), text(7, 6 * PAGE_BYTES)
    kept.append(data)
    for first, last in ((1, 3), (3, 7)):
        copy = Kept()
        copy.disk[:] = kept.disk
        end = min(last * PAGE_BYTES, len(copy.disk))
        copy.disk[first * PAGE_BYTES : end] = bytes(end - first * PAGE_BYTES)
        copy.open()
        found = copy.read()
        good = first * (PAGE_BYTES - OVERHEAD_BYTES) - HEAD_BYTES
        assert found[:good] == data[:good]
        rest = found[good:].lstrip(b"\0")
        assert data.endswith(rest)
        assert len(found) >= len(data)


def test_a_damaged_head_leaves_zeros_and_nothing_is_added() -> None:
    kept = Kept()
    kept.append(b"payload")
    kept.disk[30] ^= 1
    kept.open()
    assert kept.read().strip(b"\0") == b""
    assert kept.file.end >= 7
    with pytest.raises(HeadDamaged):
        kept.append(b"more")
    kept.truncate(0)
    kept.append(b"anew")
    assert kept.read() == b"anew"


def test_no_byte_of_what_was_written_is_on_the_disk() -> None:
    kept = Kept()
    for _ in range(100):
        kept.append(b"a person's name " * 20)
    assert b"person" not in kept.disk


def test_another_key_of_the_same_name_is_told_from_damage() -> None:
    kept = Kept(seals("k1"))
    kept.append(b"secret")
    kept.seals = seals("other", "k2")
    with pytest.raises(KeyFault, match="the key k1, which is not given"):
        kept.open()
    right = seals("k1").ring.newest
    kept.seals = kept.seals._replace(ring=type(kept.seals.ring)([right._replace(secret=bytes(32))]))
    with pytest.raises(KeyFault, match="another key k1"):
        kept.open()


def test_a_file_keeps_its_key_and_a_new_one_takes_the_newest() -> None:
    old = Kept(seals("k1"))
    old.append(b"one")
    old.seals = seals("k1", "k2")
    old.open()
    old.append(b"two")
    assert old.read() == b"onetwo"
    assert frames.decode_head(old.disk).key_id == "k1"
    old.truncate(0)
    old.append(b"three")
    assert frames.decode_head(old.disk).key_id == "k2"


def test_two_files_share_no_key_and_frames_cannot_be_moved() -> None:
    one, two = Kept(seals(seed=1)), Kept(seals(seed=2))
    one.append(b"first.")
    one.append(b"second")
    two.append(b"third.")
    size = OVERHEAD_BYTES + 6
    two.disk[HEAD_BYTES:] = one.disk[HEAD_BYTES : HEAD_BYTES + size]
    two.open()
    assert two.read() == bytes(6)
    one.disk[HEAD_BYTES : HEAD_BYTES + size], one.disk[HEAD_BYTES + size :] = (
        one.disk[HEAD_BYTES + size :],
        one.disk[HEAD_BYTES : HEAD_BYTES + size],
    )
    one.open()
    assert b"first." not in one.read()[6:]


# ---- nonces


def nonces_of(disk: bytes) -> dict[bytes, bytes]:
    """What each nonce of a file seals."""
    found = {}
    for start in range(0, len(disk), PAGE_BYTES):
        skipped = 0 if start else HEAD_BYTES
        page = disk[start + skipped : start + PAGE_BYTES]
        for frame in frames.walk(page, skipped).frames:
            found[page[frame.at + 8 : frame.at + 20]] = page[frame.at : frame.stop]
    return found


def repeats(steps: list[tuple[str, float]]) -> bool:
    """Whether somebody who looked at the disk after each step has seen one nonce over different bytes."""
    kept, seen, size = Kept(), dict[bytes, bytes](), 0
    for number, (what, how) in enumerate(steps):
        if what == "append":
            kept.append(text(number, int(how)))
        elif what == "truncate":
            kept.truncate(int(how * kept.file.end))
        else:
            kept.open()
        size = max(size, kept.file.end)
        now = nonces_of(bytes(kept.disk))
        if any(seen.get(nonce, sealed) != sealed for nonce, sealed in now.items()):
            return True
        seen |= now
    return False


@given(STEPS)
@examples(60)
def test_no_nonce_is_used_twice(steps: list[tuple[str, float]]) -> None:
    assert not repeats(steps)


PLANTED: list[tuple[str, float]] = [("append", 100), ("open", 0), ("append", 100), ("truncate", 0.5), ("append", 200)]


def test_the_check_finds_a_nonce_that_comes_again_after_a_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bug is planted: whoever opens or cuts a file counts on from what lies there."""
    honest = sealed_file.SealedFile.__init__

    def planted(self: object, aead: object, head: bytes, extent: Extent, counter: nonces.Nonces) -> None:
        counter._begin, counter._count = b"constant", extent.physical_end
        honest(self, aead, head, extent, counter)  # type: ignore[arg-type]

    assert not repeats(PLANTED)
    monkeypatch.setattr(sealed_file.SealedFile, "__init__", planted)
    assert repeats(PLANTED)


def test_nonces_of_one_writer_differ() -> None:
    made = nonces.Nonces(seals().entropy)
    found = [made.next() for _ in range(1000)]
    assert len(set(found)) == 1000
    assert all(len(one) == 12 and one[:8] == other[:8] for one, other in pairwise(found))
