"""`man penstock`: every command and option, as `--help` has them, in a form that roff reads without a complaint."""

from __future__ import annotations

import re

import pytest

from penstock.cli.help_pages import EXAMPLES
from penstock.cli.man_page import _text, page
from tests.cli.test_help import COMMANDS
from tests.packaging.installed import ROOT

KEPT = ROOT / "docs" / "penstock.1"


@pytest.fixture(scope="module")
def text() -> str:
    return page()


def test_the_page_that_is_kept_is_that_of_today(text: str) -> None:
    assert KEPT.read_text() == text, "make it anew: python -m penstock.cli.man_page > docs/penstock.1"


def test_it_has_every_command_and_every_option(text: str) -> None:
    said = text.replace("\\-", "-").replace("\\e", "\\")
    headings = re.findall(r"^\.SS penstock (.*)$", said, re.MULTILINE)
    assert len(headings) == len(EXAMPLES)
    for words, heading in zip(sorted(EXAMPLES), headings, strict=True):
        assert f"{heading} ".startswith(f"{words} ")
    sections = dict(zip(sorted(EXAMPLES), re.split(r"^\.SS .*$", said, flags=re.MULTILINE)[1:], strict=True))
    for words, command in COMMANDS.items():
        for each in command.params:
            if each.param_type_name == "option" and not each.hidden:
                assert all(rf"\fB{name}\fR" in sections[words] for name in each.opts), (words, each.opts)


def test_no_text_is_taken_for_a_request() -> None:
    assert (
        _text(".SH is said here, and [bold]this[/bold] is a-b\n\nnext")
        == "\\&.SH is said here, and this is a\\-b\n.PP\nnext"
    )


def test_only_requests_that_are_known_begin_a_line(text: str) -> None:
    """groff says nothing about it (`groff -man -ww -z`), and is not on every machine."""
    requests = {line.split(" ", 1)[0] for line in text.splitlines() if line.startswith((".", "'"))}
    assert requests == {".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".BR", ".RI", ".I", ".EX", ".EE"}
    assert "\n\n" not in text, "an empty line is a paragraph of its own to roff"
    assert text.isascii() or all(ord(each) > 159 for each in text if not each.isascii())
    assert text.count(".EX") == text.count(".EE") == len(EXAMPLES)
