"""`penstock cluster`: who is in the cluster, how it is, what it speaks, and what is moved in it."""

from enum import StrEnum
from typing import Annotated

import typer

from penstock.cli.cluster_balance import balance
from penstock.cli.cluster_decommission import decommission
from penstock.cli.cluster_drain import drain, undrain
from penstock.cli.cluster_features import features
from penstock.cli.cluster_health import health
from penstock.cli.cluster_quorum import quorum
from penstock.cli.cluster_reassign import reassign
from penstock.cli.cluster_voters import add_voter, remove_voter
from penstock.cli.output import Output, bytes_text, print_facts, print_json, print_rows, print_table
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, OutputOption, Timeout, connect
from penstock.client.admin import Admin
from penstock.client.api_difference import beside_kafka
from penstock.client.metadata import NO_NODE
from penstock.client.quorum import known_quorum
from penstock.core.wire.api_table import APIS
from penstock.core.wire.registry import api_name

app = typer.Typer(help="Look at the cluster, and move what is in it.", no_args_is_help=True)


class Peer(StrEnum):
    """What a broker may be compared with."""

    KAFKA_4_3 = "kafka-4.3"


BROKER_COLUMNS = ("broker", "address", "rack", "controller", "data", "partitions", "size")


@app.command()
def info(
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, output: OutputOption = Output.TABLE, timeout: Timeout = TIMEOUT_SECONDS
) -> None:
    """Show the brokers, their data and the cluster's features."""
    with connect(bootstrap, timeout) as client, client.within(timeout):
        admin = Admin(client)
        cluster, levels = admin.cluster(), admin.features()
        topics, folders = client.topics(), admin.known_log_dirs()
        controller = known_quorum(client).leader
    facts = {
        "cluster_id": cluster.cluster_id,
        "controller": None if controller == NO_NODE else controller,
        "topics": len(topics),
        "partitions": sum(len(topic.partitions) for topic in topics),
    }
    rows = []
    for broker in cluster.brokers:
        own = [folder for folder in folders if folder.broker == broker.node_id]
        rows.append(
            (
                broker.node_id,
                broker.address,
                broker.rack,
                broker.node_id == controller,
                [folder.path for folder in own],
                sum(len(folder.sizes) for folder in own),
                sum(sum(folder.sizes.values()) for folder in own),
            )
        )
    if output is Output.JSON:
        print_json(
            facts | {"features": levels, "brokers": [dict(zip(BROKER_COLUMNS, row, strict=True)) for row in rows]}
        )
        return
    print_facts(output, facts | {"features": ", ".join(f"{name}={level}" for name, level in sorted(levels.items()))})
    print()
    readable = [(*row[:3], "yes" if row[3] else None, ", ".join(row[4]), row[5], bytes_text(row[6])) for row in rows]
    print_table(BROKER_COLUMNS, readable)


@app.command("api-versions")
def api_versions(
    broker: Annotated[int | None, typer.Option(help="The broker to ask; any if left out.")] = None,
    diff: Annotated[
        Peer | None, typer.Option(help="Only what differs from what a broker of that kind offers, and why.")
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Show which version of each API a broker speaks, beside the ones this client knows."""
    with connect(bootstrap, timeout) as client:
        offered = Admin(client).api_versions(broker)
    if diff is not None:
        print_rows(output, ("key", "api", diff.value, "offered", "why"), beside_kafka(offered))
        return
    rows = []
    for key, versions in sorted(offered.items()):
        ours = APIS.get(key)
        known = (ours.version_min, ours.version_max) if ours else (None, None)
        rows.append((key, api_name(key), versions.start, versions.stop - 1, *known))
    print_rows(output, ("key", "api", "oldest", "newest", "our oldest", "our newest"), rows)


app.command("health")(health)
app.command("quorum")(quorum)
app.command("add-voter")(add_voter)
app.command("remove-voter")(remove_voter)
app.command("features")(features)
app.command("reassign")(reassign)
app.command("balance")(balance)
app.command("decommission")(decommission)
app.command("drain")(drain)
app.command("undrain")(undrain)
