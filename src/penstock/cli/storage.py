"""`penstock storage`: prepare a data folder for a node, and say whose it is."""

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.data_folders import data_folders, metadata_folders
from penstock.cli.first_users import bootstrap_of
from penstock.cli.first_voters import NO_VOTERS, Asked, first_voters
from penstock.cli.formatting import format_folder, new_id, read_meta
from penstock.cli.node_settings import read_settings_file
from penstock.cli.output import Output, print_json, print_rows
from penstock.cli.plain import DATA_DIR
from penstock.cli.sealed_folders import sealing_of
from penstock.cli.session import OutputOption
from penstock.cli.storage_dump import dump
from penstock.cli.storage_import import import_
from penstock.cli.storage_keys import keys, rekey
from penstock.cli.storage_repair import Config, DataDir, repair, verify
from penstock.cli.storage_stray import app as stray
from penstock.cli.talk import Refused, say
from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.storage import Meta, uuid_bytes

app = typer.Typer(help="Prepare and look at data folders.", no_args_is_help=True)
app.command("import")(import_)
app.command()(verify)
app.command()(repair)
app.command()(dump)
app.command()(keys)
app.command()(rekey)
app.add_typer(stray, name="stray")

ConfigFile = Annotated[Path, typer.Option("--config", "-c", help="server.properties of the node.")]


@app.command("format")
def format_(
    config: ConfigFile,
    cluster_id: Annotated[str | None, typer.Option("--cluster-id", "-t", help="The same for all nodes.")] = None,
    ignore_formatted: Annotated[bool, typer.Option("--ignore-formatted", "-g", help="Skip formatted ones.")] = False,
    standalone: Annotated[bool, typer.Option("--standalone", "-s", help="This is the first controller.")] = False,
    initial_controllers: Annotated[
        str | None,
        typer.Option(
            "--initial-controllers", "-I", metavar="ID@HOST:PORT:DIRECTORY,...", help="The first controllers."
        ),
    ] = None,
    no_initial_controllers: Annotated[
        bool, typer.Option("--no-initial-controllers", "-N", help="It is to be added to those there are.")
    ] = False,
    add_scram: Annotated[
        list[str] | None,
        typer.Option(
            "--add-scram", "-S", metavar="MECHANISM=[name=NAME,password=...]", help="A first user; repeatable."
        ),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Write meta.properties into the node's data folders, and the first voters, where those are kept in the metadata.

    A node that stands alone does this by itself when it starts in a new folder.
    """
    settings = BrokerSettings(read_settings_file(str(config)))
    first = first_voters(settings, Asked(standalone, initial_controllers, no_initial_controllers))
    bootstrap = bootstrap_of(add_scram)
    folders = _folders(settings)
    formatted = {folder: meta for folder in folders if (meta := read_meta(folder)) is not None}
    if formatted and not ignore_formatted:
        raise Refused(
            f"{next(iter(formatted))} is formatted already",
            "look at it with `penstock storage info`; --ignore-formatted leaves it as it is and formats the others",
        )
    chosen = _cluster_id(cluster_id, list(formatted.values()))
    for folder in folders:
        if folder not in formatted:
            is_metadata = folder == settings.metadata_log_dir
            voters, records = (first, bootstrap) if is_metadata else (NO_VOTERS, None)
            sealing = sealing_of(settings, folder)
            formatted[folder] = format_folder(folder, chosen, settings.node_id, *voters, records, sealing=sealing)
    if output is Output.JSON:
        print_json([_facts(folder, formatted[folder]) for folder in folders])
    else:
        say(f"cluster {chosen}, node {settings.node_id}: {', '.join(folders)}")


@app.command()
def info(config: Config = None, data_dir: DataDir = DATA_DIR, output: OutputOption = Output.TABLE) -> None:
    """Show whose the data folders are, of a node or of all nodes of `penstock up`; fails if one is not formatted."""
    folders = dict.fromkeys(metadata_folders(config, data_dir) + data_folders(config, data_dir))
    found = {folder: read_meta(folder) for folder in folders}
    rows = [tuple(_facts(folder, meta).values()) for folder, meta in found.items()]
    print_rows(output, ("folder", "formatted", "version", "cluster id", "node id", "directory id"), rows)
    if None in found.values():
        say("format it with `penstock storage format`, or start the node: it formats a new folder by itself")
        raise typer.Exit(1)


@app.command("random-uuid")
def random_uuid() -> None:
    """Print a new id, for a cluster or a directory."""
    print(new_id())


def _folders(settings: BrokerSettings) -> list[str]:
    return list(dict.fromkeys((settings.metadata_log_dir, settings.log_dir)))


def _cluster_id(asked: str | None, formatted: list[Meta]) -> str:
    """The id that was asked for, else that of the folders which have one, else a new one."""
    ids = {meta.cluster_id for meta in formatted}
    if asked is not None:
        uuid_bytes(asked)
        if ids - {asked}:
            raise Refused(f"a folder belongs to cluster {ids.pop()}, not {asked}", "format folders of one cluster only")
        return asked
    if len(ids) > 1:
        raise Refused(f"the folders belong to several clusters: {', '.join(sorted(ids))}", "keep those of one")
    return ids.pop() if ids else new_id()


def _facts(folder: str, meta: Meta | None) -> dict[str, object]:
    return {
        "folder": folder,
        "formatted": meta is not None,
        "version": meta and meta.version,
        "cluster_id": meta and meta.cluster_id,
        "node_id": meta and meta.node_id,
        "directory_id": meta and meta.directory_id,
    }
