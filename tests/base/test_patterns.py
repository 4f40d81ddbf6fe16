"""Regular expressions of clients: as Python's own where both know a thing, and never back and again."""

from __future__ import annotations

import random
import re

import pytest

from penstock.core.base.patterns.pattern import Pattern
from penstock.core.base.patterns.tree import InvalidPattern

TWIN_PATTERNS = 3_000
LETTERS = "abc-1\n"
PIECES = (
    *("a", "b", "c", ".", "[ab]", "[^a]", r"\w", r"\d", r"\S", "", r"\b", r"\B", "^", r"\A", "-", "[a-c]", "[]a]"),
    *("[^]a]", "[a-]", "1", r"\x61", r"\-", "(?i:A)", "(?s:.)", "(?m:^)", "(?m:$)", "a{", "a{1"),
)
SIGNS = ("*", "+", "?", "{2}", "{1,3}", "{0,2}?", "*?", "{1,}")


def matches(pattern: str | Pattern, text: str) -> bool:
    answer = (Pattern(pattern) if isinstance(pattern, str) else pattern).matches(text)
    while True:
        try:
            next(answer)
        except StopIteration as done:
            return bool(done.value)


def any_pattern(chance: random.Random, depth: int) -> str:
    kind = chance.random()
    if depth == 0 or kind < 0.35:
        return chance.choice(PIECES)
    if kind < 0.6:
        return any_pattern(chance, depth - 1) + any_pattern(chance, depth - 1)
    if kind < 0.75:
        return f"(?:{any_pattern(chance, depth - 1)}|{any_pattern(chance, depth - 1)})"
    return f"({any_pattern(chance, depth - 1)}){chance.choice(SIGNS)}"


def test_whatever_python_knows_is_the_same_here() -> None:
    chance = random.Random(27)
    matched = 0
    for _ in range(TWIN_PATTERNS):
        pattern = any_pattern(chance, 4)
        text = "".join(chance.choice(LETTERS) for _ in range(chance.randrange(6)))
        if "\\B" in pattern and not text:
            # Python finds nothing in an empty text, not even that no word begins there.
            continue
        expected = re.fullmatch(pattern, text) is not None
        assert matches(pattern, text) == expected, (pattern, text)
        matched += expected
    assert matched > TWIN_PATTERNS / 20


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("shop-.*", "shop-7", "my-shop-7"),
        ("(?i)shop", "SHOP", "SHOPS"),
        ("a(?i)b(?-i)c", "aBc", "aBC"),
        ("(a(?i)b)c", "aBc", "aBC"),
        ("(?P<year>[0-9]{4})-(?<month>\\d\\d)", "2026-11", "2026-1"),
        ("\\Qa.b\\E*", "a.bbb", "axb"),
        ("\\Qa.b", "a.b", "a.bc"),
        ("[[:alpha:]_]+", "ab_", "a1"),
        ("[[:^digit:]]+", "ab", "a1"),
        ("[^\\d\\s]+", "ab", "a 1"),
        ("\\pL\\p{Lu}\\PL", "äÄ1", "ää1"),
        ("[\\p{^L}x]", "1", "y"),
        ("\\x{1F600}\\x41\\101\\0", "😀AA\0", "A"),
        ("a$", "a", "a\n"),
        ("\\Aa\\z", "a", "aa"),
        ("", "", "a"),
        ("a||b", "", "ab"),
        ("x{,5}", "x{,5}", "xxx"),
    ],
)
def test_what_re2_writes_in_its_own_way(pattern: str, yes: str, no: str) -> None:
    assert matches(pattern, yes)
    assert not matches(pattern, no)


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "(",
            ")",
            "(a",
            "a)",
            "[",
            "[a",
            "[]",
            "[b-a]",
            "[a-\\d]",
            "[[:nothing:]]",
            "*",
            "a|*",
            "+a",
            "a**",
            "a{2}{3}",
        ),
        *("a{2}{3}", "a{1001}", "a{3,2}", "((a{100}){100}){100}", "(?=a)", "(?!a)", "(?<=a)", "(?P=a)"),
        *(
            "(a)\\1",
            "\\k<a>",
            "\\y",
            "\\",
            "\\x",
            "\\xg1",
            "\\x{110000}",
            "\\p",
            "\\pX",
            "\\p{Greeks}",
            "\\p{L",
            "(?P<>a)",
        ),
        *("(?P<>a)", "(?P<a", "(?", "(?i", "(?x)a", "(" * 200 + ")" * 200, "a" * 2_001, "[" + "a" * 4_000 + "]"),
    ],
)
def test_what_means_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidPattern):
        Pattern(pattern)


def test_what_would_never_end_elsewhere_takes_turns_here() -> None:
    pattern = Pattern("(x+x+)+y")
    assert not matches(pattern, "x" * 5_000)
    turns = sum(1 for _ in Pattern("(a|b)*a(a|b){200}").matches("ab" * 2_000))
    assert 10 < turns < 5_000


@pytest.mark.slow
def test_what_it_remembers_is_bounded() -> None:
    pattern = Pattern("(a|b)*a(a|b){300}")
    chance = random.Random(1)
    for _ in range(20):
        matches(pattern, "".join(chance.choice("ab") for _ in range(400)))
    held = sum(len(places) + 1 for places in pattern._known.values())
    assert 0 < held <= 50_000
