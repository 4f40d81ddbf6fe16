"""The registry itself: complete, in our words, quick to load; and the page made from it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.core.base.settings import BROKER_KEYS, GROUP_KEYS, TOPIC_KEYS, Key, Scope, Standing
from penstock.core.base.settings.document import document
from penstock.core.base.settings.reader import read_tables

ROOT = Path(__file__).resolve().parent.parent.parent
EVERY_KEY = [*BROKER_KEYS.values(), *TOPIC_KEYS.values(), *GROUP_KEYS.values()]


@pytest.mark.parametrize("key", EVERY_KEY, ids=lambda key: f"{key.scope.value}:{key.name}")
def test_every_setting_is_explained(key: Key) -> None:
    assert re.fullmatch(r"[A-Z].*\.", key.doc), key.doc
    assert key.standing is not Standing.UNKNOWN
    assert bool(key.why) == (key.standing is not Standing.ACTS)


def test_synonyms_are_broker_settings() -> None:
    for key in EVERY_KEY:
        assert all(synonym.name in BROKER_KEYS for synonym in key.synonyms), key.name


def test_a_topic_setting_stands_where_its_broker_setting_does() -> None:
    for key in TOPIC_KEYS.values():
        for synonym in key.synonyms:
            assert key.standing is BROKER_KEYS[synonym.name].standing, key.name


ROW = "a.key | int | 1 | >= 1 | low\n    A sentence.\n"


def test_a_setting_needs_exactly_one_standing() -> None:
    acting = {"a.key": (Standing.ACTS, "")}
    assert read_tables(Scope.BROKER, (ROW,), acting, {})["a.key"].default == 1
    with pytest.raises(AssertionError, match="not both"):
        read_tables(Scope.BROKER, (ROW,), {}, {})
    with pytest.raises(AssertionError, match="not both"):
        read_tables(Scope.BROKER, (), acting, {})
    with pytest.raises(AssertionError, match="declared twice"):
        read_tables(Scope.BROKER, (ROW, ROW), acting, {})


def test_the_page_on_settings_is_current() -> None:
    page = ROOT / "docs" / "compatibility" / "settings.md"
    command = f"{Path(sys.executable).name} -m penstock.core.base.settings.document > {page.relative_to(ROOT)}"
    assert page.read_text() == document(), f"out of date; run: {command}"


@pytest.mark.slow
def test_the_page_is_printed_by_its_module() -> None:
    command = [sys.executable, "-m", "penstock.core.base.settings.document"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(ROOT / "src")})
    assert printed.stdout == document()
