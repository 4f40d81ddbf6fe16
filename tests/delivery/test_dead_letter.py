"""What is written on a dead letter is read from it again, whatever else is there."""

from penstock.core.delivery.dead_letter import PREFIX, Letter, Origin, dead_letter_headers, own_headers, read_letter
from penstock.core.delivery.policy import GiveUp

OWN = [("trace", b"1"), ("trace", None)]
ORIGIN = Origin("orders", 3, 17, 1_700_000_000_000)


def test_a_letter_says_where_it_came_from_and_why() -> None:
    headers = dead_letter_headers(OWN, ORIGIN, GiveUp(2, "ValueError", "no total"), "group=billing")
    assert read_letter(headers) == Letter(*ORIGIN, "ValueError", "no total", 2, "group=billing")
    assert own_headers(headers) == OWN


def test_the_last_failure_counts() -> None:
    once = dead_letter_headers(OWN, ORIGIN, GiveUp(2, "ValueError", "no total"), "group=billing")
    twice = dead_letter_headers(once, ORIGIN._replace(offset=40), GiveUp(1, "KeyError", "city"), "group=billing")
    letter = read_letter(twice)
    assert letter is not None
    assert (letter.offset, letter.reason) == (40, "KeyError")
    assert own_headers(twice) == OWN


def test_other_records_are_no_letters() -> None:
    assert read_letter(OWN) is None
    assert read_letter([(PREFIX + "partition", b"1")]) is None


def test_a_letter_may_say_anything() -> None:
    facts = {"topic": b"\xff", "partition": b"one", "offset": b"9" * 40, "timestamp": None, "attempts": "²".encode()}
    letter = read_letter([(PREFIX + name, value) for name, value in facts.items()])
    assert letter == Letter("�", None, None, None, "", "", None, "")
