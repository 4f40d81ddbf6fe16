"""`penstock storage verify` and `repair`: is what the disk gives back what was written, and what to do if not."""

import os
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from penstock.cli.output import Output, bytes_text, print_json, print_rows
from penstock.cli.plain import DATA_DIR
from penstock.cli.session import OutputOption
from penstock.cli.talk import Refused, say

if TYPE_CHECKING:
    from penstock.core.log.verifying import Bad, SegmentCheck

Config = Annotated[str | None, typer.Option("--config", "-c", help="server.properties of the node.")]
DataDir = Annotated[str, typer.Option(help="Or: the folder of `penstock up`.")]
COLUMNS = ("partition", "segments", "bytes", "batches", "damaged", "wrong indexes", "folder")


class Verified(NamedTuple):
    """One partition of one folder."""

    folder: str
    key: tuple[str, int]
    checks: "list[SegmentCheck]"
    is_marked: bool
    """A node has found that it lacks something, and does not open it."""

    @property
    def lacks_end(self) -> bool:
        """No batch is damaged, and yet there was more."""
        return self.is_marked and not self.bad

    @property
    def is_damaged(self) -> bool:
        return self.is_marked or bool(self.bad)

    @property
    def name(self) -> str:
        return f"{self.key[0]}-{self.key[1]}"

    @property
    def bad(self) -> "list[Bad]":
        return [bad for check in self.checks for bad in check.bad]

    @property
    def bad_indexes(self) -> int:
        return sum(check.is_index_bad for check in self.checks)

    @property
    def row(self) -> tuple[object, ...]:
        size = sum(check.size_bytes for check in self.checks)
        batches = sum(check.batches for check in self.checks)
        return self.name, len(self.checks), size, batches, len(self.bad), self.bad_indexes, self.folder


def verify(
    partitions: Annotated[list[str] | None, typer.Argument(metavar="[TOPIC-PARTITION]...")] = None,
    config: Config = None,
    data_dir: DataDir = DATA_DIR,
    output: OutputOption = Output.TABLE,
) -> None:
    """Read everything in the folder of a node that is stopped, and compare it with its checksums. The exit code is 1 if
    something is damaged."""
    found = _verified(config, data_dir, partitions or [])
    if output is Output.JSON:
        print_json([_facts(each) for each in found])
    else:
        print_rows(output, COLUMNS, (each.row for each in found))
    for each in found:
        _tell(each)
    damaged = [each.name for each in found if each.is_damaged]
    if damaged:
        say(f"see what can be done with: penstock storage repair {damaged[0]}")
    if damaged or any(each.bad_indexes for each in found):
        raise typer.Exit(1)


def repair(
    partition: Annotated[str, typer.Argument(metavar="TOPIC-PARTITION")],
    config: Config = None,
    data_dir: DataDir = DATA_DIR,
    yes: Annotated[bool, typer.Option("--yes", "--execute", help="Yes, take it out.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Take what is damaged out of a partition of a node that is stopped, and keep it in files beside the log; all else
    stays. Where another replica leads the partition nothing needs to be done: the node takes it from there."""
    from penstock.cli.data_folders import data_folders, held, metadata_folders
    from penstock.cli.metadata_repair import repair_metadata
    from penstock.cli.sealed_folders import sealings
    from penstock.core.log.names import METADATA_DIR
    from penstock.core.log.repairing import repair as take_out
    from penstock.shell.blocking import run_blocking

    if partition == METADATA_DIR:
        folders = metadata_folders(config, data_dir)
        with held(folders):
            repair_metadata(folders, yes=yes)
        return
    with held(data_folders(config, data_dir)):
        found = [each for each in _look(config, data_dir, [partition]) if each.is_damaged]
        for each in found:
            _tell(each)
        if not found:
            say(f"{partition} is whole")
        lost = sum(bad.size_bytes for each in found for bad in each.bad)
        if found and not yes:
            raise Refused(f"this takes {bytes_text(lost)} out of {partition}", "say that you mean it with --yes")
        by_folder = sealings(config, data_dir)
        kept = [
            path
            for each in found
            for path in run_blocking(take_out(each.folder, each.key, each.checks), by_folder[each.folder])
        ]
    for path in kept:
        say(f"kept in {path}")
    if output is Output.JSON:
        print_json([{**_facts(each), "kept": kept} for each in found])


def _tell(verified: Verified) -> None:
    for bad in verified.bad:
        say(f"{verified.name} is damaged in {bad.what}")
    if verified.lacks_end:
        say(f"{verified.name} ends before what it once held; what is there is good")
    if verified.bad_indexes:
        say(f"{verified.name} has {verified.bad_indexes} wrong index(es): whoever reads by one makes it anew")


def _verified(config: str | None, data_dir: str, names: list[str]) -> list[Verified]:
    from penstock.cli.data_folders import data_folders, held, metadata_folders

    with held(list(dict.fromkeys(data_folders(config, data_dir) + metadata_folders(config, data_dir)))):
        return _look(config, data_dir, names)


def _look(config: str | None, data_dir: str, names: list[str]) -> list[Verified]:
    # The other commands for folders start faster without all that reads logs.
    from penstock.cli.data_folders import data_folders, metadata_folders, metadata_in, partitions_in, refuse_unknown
    from penstock.cli.sealed_folders import sealings
    from penstock.core.log.damage import DAMAGE_FILE
    from penstock.core.log.verifying import verify_folder
    from penstock.shell.blocking import run_blocking

    folders, homes = data_folders(config, data_dir), metadata_folders(config, data_dir)
    refuse_unknown(names, folders + homes)
    by_folder = sealings(config, data_dir)
    places = [(folder, key) for folder in folders for key in partitions_in(folder, names)]
    places += [(folder, key) for folder in homes for key in metadata_in(folder, names)]
    found = []
    for folder, key in places:
        path = f"{folder}/{key[0]}-{key[1]}"
        is_marked = os.path.exists(f"{path}/{DAMAGE_FILE}")
        found.append(Verified(folder, key, run_blocking(verify_folder(path), by_folder[folder]), is_marked))
    return found


def _facts(verified: Verified) -> dict[str, object]:
    facts = dict(zip((column.replace(" ", "_") for column in COLUMNS), verified.row, strict=True))
    return facts | {"damage": [bad._asdict() for bad in verified.bad]}
