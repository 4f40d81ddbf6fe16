"""The boot of the machine, as far as a data folder is concerned."""

from __future__ import annotations

from pathlib import Path

from penstock.shell.boot import boot_id


def test_it_stays_while_the_machine_and_the_folder_stay(tmp_path: Path) -> None:
    source = tmp_path / "boot_id"
    source.write_text("5c1f0b0e\n")
    (tmp_path / "data").mkdir()
    first = boot_id(str(tmp_path / "data"), str(source))
    (tmp_path / "data" / "file").write_bytes(b"x")
    assert first is not None
    assert boot_id(str(tmp_path / "data"), str(source)) == first
    source.write_text("77aa0000\n")
    assert boot_id(str(tmp_path / "data"), str(source)) not in (None, first)


def test_a_folder_that_was_put_back_is_another_one(tmp_path: Path) -> None:
    source = tmp_path / "boot_id"
    source.write_text("5c1f0b0e\n")
    (tmp_path / "data").mkdir()
    (tmp_path / "copy").mkdir()
    first = boot_id(str(tmp_path / "data"), str(source))
    (tmp_path / "data").rename(tmp_path / "old")
    (tmp_path / "copy").rename(tmp_path / "data")
    assert boot_id(str(tmp_path / "data"), str(source)) not in (None, first)


def test_where_the_system_has_none_there_is_none(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_text("\n")
    assert boot_id(str(tmp_path), str(tmp_path / "missing")) is None
    assert boot_id(str(tmp_path), str(empty)) is None
    assert boot_id(str(tmp_path / "missing"), str(empty)) is None
