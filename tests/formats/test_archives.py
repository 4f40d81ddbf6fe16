"""Data that earlier versions left opens, and shows what it showed then."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.cli.running import running
from tests.formats.archive import FOLDER, RECORDS, SUFFIX, shown_by, unpack

pytestmark = [pytest.mark.slow, pytest.mark.client]

ARCHIVES = sorted(FOLDER.glob(f"*{SUFFIX}"))


def test_there_are_archives_and_they_are_small() -> None:
    assert len(ARCHIVES) >= 2
    assert all(archive.stat().st_size < 200_000 for archive in ARCHIVES)


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda archive: archive.name.removesuffix(SUFFIX))
def test_it_opens_and_goes_on(archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    kept = unpack(archive, folder)
    with running(folder) as up:
        assert len(list(folder.glob("node-*"))) == kept.nodes
        assert shown_by(up.bootstrap) == kept.shown
        producer = Producer({"bootstrap.servers": up.bootstrap, "enable.idempotence": True})
        offsets: list[int | None] = []
        producer.produce("gzip", b"more", partition=0, on_delivery=lambda error, sent: offsets.append(sent.offset()))
        assert producer.flush(30) == 0
        assert offsets == [RECORDS]
        for word in ("recovered", "damage", "set aside", "was cut"):
            assert word not in up.talk(), "it was stopped cleanly"
