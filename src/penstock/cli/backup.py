"""`penstock backup`: take, list and verify backups of a running cluster, and make data folders of them."""

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.output import Output, print_facts, print_json, print_rows
from penstock.cli.session import (
    DEFAULT_BOOTSTRAP,
    TIMEOUT_SECONDS,
    Bootstrap,
    OutputOption,
    Timeout,
    client_security,
    connect,
)
from penstock.cli.talk import Refused, say

if TYPE_CHECKING:
    from penstock.cli.backups.manifest import Manifest

app = typer.Typer(help="Take backups of a running cluster, verify them, restore them.", no_args_is_help=True)

Location = Annotated[str, typer.Argument(metavar="LOCATION", help="A folder, or s3://bucket/prefix (gs:, az:).")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="One of those that `list` shows.")]
COLUMNS = ("name", "created", "state", "topics", "partitions", "bytes", "credentials", "metadata offset", "cluster id")


@app.command()
def create(
    location: Location,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    name: Annotated[str | None, typer.Option("--name", help="How to call it; without this, the time of now.")] = None,
    topic: Annotated[
        list[str] | None, typer.Option("--topic", "-t", help="Only these topics; `orders*` is a pattern; repeatable.")
    ] = None,
    with_credentials: Annotated[
        bool, typer.Option("--with-credentials", help="Users' secrets, tokens and passwords in settings, too.")
    ] = False,
    controller_config: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="How to get in at controllers, where that is another way than at brokers."),
    ] = None,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Keep metadata, committed offsets and topics while the cluster runs. What the backup before has already is not
    copied again."""
    from penstock.cli.backups.creating import Wish, create
    from penstock.cli.backups.manifest import check_name
    from penstock.cli.backups.store import open_store

    chosen = check_name(time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()) if name is None else name)
    store = open_store(location)
    controllers = None if controller_config is None else client_security(controller_config)
    wish = Wish(chosen, topic or [], with_credentials, client_security(), controllers)
    with connect(bootstrap, timeout) as client:
        made = create(client, store, wish)
    print_facts(output, _facts(made))
    if made.has_credentials:
        say(f"{location} holds secrets now: whoever reads it can get in")


@app.command("list")
def list_(location: Location, output: OutputOption = Output.TABLE) -> None:
    """Show the backups of a place, and those that were not finished."""
    from penstock.cli.backups.manifest import load, names
    from penstock.cli.backups.store import open_store

    store = open_store(location)
    rows: list[dict[str, Any]] = []
    for name in names(store):
        try:
            rows.append(_facts(load(store, name)))
        except Refused as failure:
            rows.append({"name": name, "state": "not finished" if "not finished" in failure.message else "damaged"})
    if output is Output.JSON:
        print_json(rows)
        return
    print_rows(output, COLUMNS, ([row.get(column.replace(" ", "_")) for column in COLUMNS] for row in rows))


@app.command()
def verify(location: Location, name: Name, output: OutputOption = Output.TABLE) -> None:
    """Read all of a backup and compare it with its checksums. The exit code is 1 if a file is wrong, and the first one
    is named."""
    from penstock.cli.backups.manifest import load
    from penstock.cli.backups.store import open_store
    from penstock.cli.backups.verifying import verify

    store = open_store(location)
    manifest = load(store, name)
    verify(store, manifest)
    print_facts(output, {**_facts(manifest), "files": sum(1 for _ in manifest.files())})


@app.command()
def restore(
    location: Location,
    name: Name,
    data_dir: Annotated[str | None, typer.Option(help="A new folder for `penstock up`.")] = None,
    nodes: Annotated[int | None, typer.Option(help="How many nodes it is to have.")] = None,
    config: Annotated[
        str | None, typer.Option("--config", "-c", help="Or: server.properties of a new node that begins alone.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Make the data folders of a new cluster: the same topics, records, offsets, groups and rules, on as many nodes as
    you like. Folders that hold anything are refused."""
    from penstock.cli.backups.manifest import load
    from penstock.cli.backups.restoring import Wish, restore
    from penstock.cli.backups.store import open_store

    store = open_store(location)
    manifest = load(store, name)
    path = restore(store, manifest, Wish(data_dir, nodes, config))
    print_facts(output, {**_facts(manifest), "folder": path})
    if not manifest.has_credentials:
        say("users and their secrets are not in this backup: add them with `penstock user add`")
    say(f"start it with: penstock {f'node --config {config}' if config else f'up --data-dir {data_dir}'}")


def _facts(manifest: "Manifest") -> dict[str, Any]:
    created = datetime.fromtimestamp(manifest.created_ms / 1000, UTC)
    return {
        "name": manifest.name,
        "created": created.isoformat(timespec="seconds"),
        "state": "complete",
        "topics": len(manifest.topics),
        "partitions": len(manifest.partitions),
        "bytes": manifest.size_bytes,
        "credentials": manifest.has_credentials,
        "metadata_offset": manifest.metadata_offset,
        "cluster_id": manifest.cluster_id,
    }
