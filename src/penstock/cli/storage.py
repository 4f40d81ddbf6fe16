"""`penstock storage`: prepare a data folder for a node, and say whose it is."""

import os
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.node_settings import read_settings_file
from penstock.cli.output import Output, print_json, print_rows
from penstock.cli.session import OutputOption
from penstock.cli.talk import Refused, say
from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.storage import (
    META_FILE,
    META_VERSION,
    Meta,
    decode_meta,
    encode_meta,
    new_uuid,
    uuid_bytes,
    uuid_text,
)

app = typer.Typer(help="Prepare and look at data folders.", no_args_is_help=True)

ConfigFile = Annotated[Path, typer.Option("--config", "-c", help="server.properties of the node.")]


@app.command("format")
def format_(
    config: ConfigFile,
    cluster_id: Annotated[str | None, typer.Option("--cluster-id", "-t", help="The same for all nodes.")] = None,
    ignore_formatted: Annotated[bool, typer.Option("--ignore-formatted", "-g", help="Skip formatted ones.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Write meta.properties into the node's data folders. A node does this by itself when it starts in a new one."""
    settings = BrokerSettings(read_settings_file(str(config)))
    folders = _folders(settings)
    formatted = {folder: meta for folder in folders if (meta := _read(folder)) is not None}
    if formatted and not ignore_formatted:
        raise Refused(
            f"{next(iter(formatted))} is formatted already",
            "look at it with `penstock storage info`; --ignore-formatted leaves it as it is and formats the others",
        )
    chosen = _cluster_id(cluster_id, list(formatted.values()))
    for folder in folders:
        if folder not in formatted:
            formatted[folder] = _format(folder, Meta(META_VERSION, chosen, settings.node_id, _new_id()))
    if output is Output.JSON:
        print_json([_facts(folder, formatted[folder]) for folder in folders])
    else:
        say(f"cluster {chosen}, node {settings.node_id}: {', '.join(folders)}")


@app.command()
def info(config: ConfigFile, output: OutputOption = Output.TABLE) -> None:
    """Show whose the node's data folders are; fails if one is not formatted."""
    settings = BrokerSettings(read_settings_file(str(config)))
    found = {folder: _read(folder) for folder in _folders(settings)}
    rows = [tuple(_facts(folder, meta).values()) for folder, meta in found.items()]
    print_rows(output, ("folder", "formatted", "version", "cluster id", "node id", "directory id"), rows)
    if None in found.values():
        say("format it with `penstock storage format`, or start the node: it formats a new folder by itself")
        raise typer.Exit(1)


def _folders(settings: BrokerSettings) -> list[str]:
    return list(dict.fromkeys((settings.metadata_log_dir, settings.log_dir)))


def _read(folder: str) -> Meta | None:
    try:
        return decode_meta(Path(folder, META_FILE).read_bytes())
    except FileNotFoundError:
        return None
    except OSError as failure:
        raise Refused(f"cannot read {folder}: {failure.strerror}", "check log.dirs in the settings") from None


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
    return ids.pop() if ids else _new_id()


def _format(folder: str, meta: Meta) -> Meta:
    """Write the file under another name first, so that a crash leaves either nothing or all of it."""
    path = Path(folder, META_FILE)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".tmp")
        with unfinished.open("wb") as file:
            file.write(encode_meta(meta))
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(path)
    except OSError as failure:
        raise Refused(f"cannot write {path}: {failure.strerror}", "check log.dirs in the settings") from None
    return meta


def _new_id() -> str:
    return uuid_text(new_uuid(os.urandom(16)))


def _facts(folder: str, meta: Meta | None) -> dict[str, object]:
    return {
        "folder": folder,
        "formatted": meta is not None,
        "version": meta and meta.version,
        "cluster_id": meta and meta.cluster_id,
        "node_id": meta and meta.node_id,
        "directory_id": meta and meta.directory_id,
    }
