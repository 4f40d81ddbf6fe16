"""`penstock storage stray`: what a node has set aside because the metadata does not know it, and nobody but a person
deletes."""

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.output import Output, bytes_text, print_rows
from penstock.cli.plain import DATA_DIR
from penstock.cli.session import OutputOption
from penstock.cli.talk import Refused, say

if TYPE_CHECKING:
    from penstock.cli.stray_folders import Stray

app = typer.Typer(help="Partitions that were set aside, not deleted.", no_args_is_help=True)

Config = Annotated[str | None, typer.Option("--config", "-c", help="server.properties of the node.")]
DataDir = Annotated[str, typer.Option(help="Or: the folder of `penstock up`.")]
Names = Annotated[list[str] | None, typer.Argument(help="Folders, or partitions such as orders-0.")]
All = Annotated[bool, typer.Option("--all", help="Everything that is set aside.")]
COLUMNS = ("node", "folder", "partition", "topic id", "first offset", "end offset", "bytes", "why")


@app.command("list")
def list_(config: Config = None, data_dir: DataDir = DATA_DIR, output: OutputOption = Output.TABLE) -> None:
    """Show what is set aside, and why. The node may run."""
    from penstock.cli.stray_folders import find, homes

    strays = [stray for home in homes(config, data_dir) for stray in find(home)]
    if strays or output is Output.JSON:
        print_rows(output, COLUMNS, map(_row, strays))
    else:
        say("nothing is set aside")


@app.command()
def restore(
    names: Names = None,
    config: Config = None,
    data_dir: DataDir = DATA_DIR,
    everything: All = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Give partitions their folders back, of a node that is stopped and whose metadata knows their topics."""
    from penstock.cli.importing.source import newest_image
    from penstock.cli.stray_folders import choose, find, held, homes
    from penstock.cli.stray_folders import restore as put_back

    found = homes(config, data_dir)
    with held(found):
        chosen = choose([stray for home in found for stray in find(home)], names or [], everything)
        for stray in chosen:
            put_back(stray, newest_image(stray.home.metadata_path))
            say(f"{stray.partition_name} is back on node {stray.home.node_id}")
    if output is Output.JSON:
        print_rows(output, COLUMNS, map(_row, chosen))


@app.command()
def purge(
    names: Names = None,
    config: Config = None,
    data_dir: DataDir = DATA_DIR,
    everything: All = False,
    yes: Annotated[bool, typer.Option("--yes", "--execute", help="Yes, delete it for good.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete what is set aside on a node that is stopped."""
    from penstock.cli.stray_folders import choose, find, held, homes
    from penstock.cli.stray_folders import purge as delete

    found = homes(config, data_dir)
    with held(found):
        chosen = choose([stray for home in found for stray in find(home)], names or [], everything)
        size = bytes_text(sum(stray.size_bytes for stray in chosen))
        if not yes:
            raise Refused(
                f"this deletes {len(chosen)} folder(s) with {size} of records", "say that you mean it with --yes"
            )
        for stray in chosen:
            delete(stray)
        say(f"deleted {len(chosen)} folder(s) with {size} of records")
    if output is Output.JSON:
        print_rows(output, COLUMNS, map(_row, chosen))


def _row(stray: "Stray") -> tuple[object, ...]:
    from penstock.core.metadata.storage import uuid_text

    note = stray.note
    return (
        stray.home.node_id,
        stray.name,
        stray.partition_name,
        stray.topic_id and uuid_text(stray.topic_id),
        note and note.start_offset,
        note and note.end_offset,
        stray.size_bytes,
        note and note.why,
    )
