"""`penstock storage stray`: what was set aside comes back if the metadata knows it, and goes if a person says so."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from penstock.core.log.names import METADATA_DIR
from penstock.testing.serving import Ports, node_settings
from tests.cli.running import Shell
from tests.node.world import fetch, found_in, produce, values_of
from tests.shell.hosting import Peer, hosted, run


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder whose node has started with other metadata, and beside it the metadata it had before."""
    place = tmp_path_factory.mktemp("strays")
    data, before = place / "data", place / "before"

    async def fill() -> None:
        async with hosted(data) as host:
            peer = await Peer.connect(host)
            await peer.create("orders")
            await peer.ask(produce("orders", b"a", b"b"), 9)
            peer.close()

    async def lose() -> None:
        async with hosted(data):
            pass

    run(fill)
    (data / METADATA_DIR).rename(before)
    run(lose)
    return place


@pytest.fixture
def place(kept: Path, tmp_path: Path) -> Path:
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
    settings = node_settings({}, str(tmp_path / "data"), Ports())
    (tmp_path / "server.properties").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return tmp_path


def return_metadata(place: Path) -> None:
    shutil.rmtree(place / "data" / METADATA_DIR)
    (place / "before").rename(place / "data" / METADATA_DIR)


def listed(shell: Shell, place: Path) -> list[dict[str, object]]:
    shown = shell("storage", "stray", "list", "--config", place / "server.properties", "--output", "json")
    assert shown.code == 0, shown.err
    found: list[dict[str, object]] = json.loads(shown.out)
    return found


def stray(shell: Shell, place: Path, command: str, *options: str) -> tuple[int, str]:
    result = shell("storage", "stray", command, *options, "--config", place / "server.properties")
    return result.code, result.err


def test_what_is_set_aside_is_listed_with_its_reason(shell: Shell, place: Path) -> None:
    (found,) = listed(shell, place)
    assert (found["partition"], found["first_offset"], found["end_offset"]) == ("orders-0", 0, 2)
    assert str(found["folder"]).endswith("-stray")
    assert "no topic" in str(found["why"])
    assert "orders-0" in shell("storage", "stray", "list", "--config", place / "server.properties").out


def test_it_comes_back_with_the_metadata_that_knows_it(shell: Shell, place: Path) -> None:
    code, told = stray(shell, place, "restore", "orders-0")
    assert code == 1
    assert "knows no topic with the id" in told
    assert len(told.splitlines()) == 2
    return_metadata(place)
    assert stray(shell, place, "restore", "orders-0") == (0, "orders-0 is back on node 1\n")
    assert listed(shell, place) == []

    async def read() -> None:
        async with hosted(place / "data") as host:
            peer = await Peer.connect(host)
            answer = await peer.ask(fetch({("orders", 0): 0}), 11)
            assert values_of(found_in(answer)["orders", 0].records) == [b"a", b"b"]
            peer.close()

    run(read)


def test_an_empty_folder_gives_way_and_one_with_records_does_not(shell: Shell, place: Path) -> None:
    return_metadata(place)

    async def start(*values: bytes) -> None:
        async with hosted(place / "data") as host:
            if values:
                peer = await Peer.connect(host)
                await peer.ask(produce("orders", *values), 9)
                peer.close()

    run(start)
    with_records = place / "with-records"
    shutil.copytree(place / "data", with_records)
    assert stray(shell, place, "restore", "--all")[0] == 0
    assert (place / "data" / "orders-0" / f"{0:020d}.log").stat().st_size
    shutil.rmtree(place / "data")
    with_records.rename(place / "data")
    run(lambda: start(b"new"))
    code, told = stray(shell, place, "restore", "--all")
    assert code == 1
    assert "holds records" in told


def test_it_goes_only_when_a_person_says_so(shell: Shell, place: Path) -> None:
    assert stray(shell, place, "purge")[0] == 2
    code, told = stray(shell, place, "purge", "--all")
    assert code == 1
    assert "--yes" in told
    assert len(listed(shell, place)) == 1
    assert "nothing by the name" in stray(shell, place, "purge", "t-9", "--yes")[1]
    assert stray(shell, place, "purge", "orders-0", "--yes")[0] == 0
    assert listed(shell, place) == []


def test_a_node_that_runs_is_left_alone(shell: Shell, place: Path) -> None:
    async def try_it() -> None:
        async with hosted(place / "data"):
            for command in ("restore", "purge"):
                code, told = stray(shell, place, command, "--all")
                assert code == 1
                assert "node 1 runs in" in told
            assert len(listed(shell, place)) == 1

    run(try_it)
