"""Whole conversations with a coordinator, written down and compared.

`PENSTOCK_REWRITE=1` writes them anew; the difference is then for a person to review.
"""

import os
from pathlib import Path

import pytest

from tests.groups.transcript import play

FOLDER = Path(__file__).parent / "transcripts"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_transcript(path: Path) -> None:
    expected = path.read_text()
    played = play(expected)
    if os.environ.get("PENSTOCK_REWRITE") == "1":
        path.write_text(played)
    else:
        assert played == expected


def test_there_are_transcripts() -> None:
    assert len(list(FOLDER.glob("*.txt"))) >= 10


def test_a_wrong_line_is_noticed() -> None:
    text = (FOLDER / "first_generation.txt").read_text()
    assert play(text.replace("gen=1", "gen=2", 1)) != text.replace("gen=1", "gen=2", 1)
