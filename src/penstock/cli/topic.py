"""`penstock topic`: create, list, describe, alter and delete topics, and the records at their beginning."""

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from penstock.cli import completion
from penstock.cli.arguments import COPIES_MAX, PARTITIONS_MAX, assignments, at_least
from penstock.cli.cluster_picture import sizes_of
from penstock.cli.delete_records import delete_records
from penstock.cli.output import Output, bytes_text, print_facts, print_json, print_rows, print_table
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, OutputOption, Timeout, connect
from penstock.cli.setting_names import check_names, nearest
from penstock.cli.talk import Refused, say
from penstock.cli.topic_delete import delete
from penstock.cli.topic_offsets import offsets
from penstock.client.admin import DEFAULT, TOPIC, Admin
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.metadata import NO_NODE, TopicPartition, TopicView
from penstock.client.offsets import known_edges
from penstock.core.base.errors import ErrorCode
from penstock.core.metadata.storage import uuid_text

app = typer.Typer(help="Create, look at and change topics.", no_args_is_help=True)

CLUSTERS_OWN = "the cluster's default"
Name = Annotated[str, typer.Argument(help="The topic's name.", autocompletion=completion.topics)]
Configs = Annotated[
    list[str] | None, typer.Option("--config", "--set", metavar="KEY=VALUE", help="A setting of the topic.")
]
Partitions = Annotated[
    int | None,
    typer.Option(
        "--partitions",
        "-p",
        callback=at_least(1, PARTITIONS_MAX),
        help="How many partitions.",
        show_default=CLUSTERS_OWN,
    ),
]
Copies = Annotated[
    int | None,
    typer.Option(callback=at_least(1, COPIES_MAX), help="How many copies of each.", show_default=CLUSTERS_OWN),
]
PARTITION_COLUMNS = ("partition", "leader", "replicas", "in sync", "first offset", "end offset", "size")
KEYS_MOVE = (
    "with more partitions most keys belong to other ones. What a key has so far stays where it is: "
    "its order holds no longer, and compaction keeps its old value beside the new one"
)


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="The topic's name.")],
    partitions: Partitions = None,
    replication_factor: Copies = None,
    config: Configs = None,
    if_not_exists: Annotated[bool, typer.Option("--if-not-exists", help="An existing topic is fine.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only check whether it could be created.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Create a topic."""
    configs = assignments(config or (), "--config")
    with connect(bootstrap, timeout) as client:
        try:
            counts = (partitions or DEFAULT, replication_factor or DEFAULT)
            made = Admin(client).create_topic(name, *counts, configs, validate_only=dry_run)
        except ClientError as failure:
            _explain(failure, configs)
            if not if_not_exists or failure.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
            _report(output, f"topic {name} exists already", {"topic": name, "created": False})
            return
    facts = {
        "topic": name,
        "created": not dry_run,
        "partitions": made.partitions,
        "replication_factor": made.replication_factor,
    }
    _report(output, f"topic {name} {'could be' if dry_run else 'is'} created, partitions: {made.partitions}", facts)


@app.command("list")
def list_(
    internal: Annotated[bool, typer.Option("--internal", help="Show the cluster's own topics too.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """List the topics."""
    with connect(bootstrap, timeout) as client, client.within(timeout):
        found = [topic for topic in client.topics() if internal or not topic.is_internal]
        sizes: Counter[str] = Counter()
        for where, size in sizes_of(client).items():
            sizes[where.topic] += size
    if not found and output is Output.TABLE:
        say("there are no topics yet; create one: penstock topic create NAME")
        return
    text = bytes_text if output is Output.TABLE else int
    rows = [
        (topic.name, len(topic.partitions), _copies(topic), text(sizes[topic.name]), uuid_text(topic.topic_id))
        for topic in found
    ]
    print_rows(output, ("topic", "partitions", "replicas", "size", "id"), rows)


@app.command()
def describe(
    name: Name,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Show a topic's partitions, offsets, size and settings."""
    with connect(bootstrap, timeout) as client, client.within(timeout):
        topic = client.topic(name)
        rows = _partition_rows(client, topic)
        settings = Admin(client).describe_configs(TOPIC, name)
    own = {setting.name: setting.value for setting in settings if setting.source == "topic"}
    facts = {"topic": name, "id": uuid_text(topic.topic_id), "internal": topic.is_internal}
    if output is Output.JSON:
        keys = [column.replace(" ", "_") for column in PARTITION_COLUMNS]
        print_json(facts | {"settings": own, "partitions": [dict(zip(keys, row, strict=True)) for row in rows]})
        return
    print_facts(output, facts | {"settings": ", ".join(f"{key}={value}" for key, value in own.items()) or None})
    print()
    readable = [(*row[:2], _numbers(row[2]), _numbers(row[3]), *row[4:6], bytes_text(row[6])) for row in rows]
    print_table(PARTITION_COLUMNS, readable)


@app.command()
def alter(
    name: Name,
    partitions: Annotated[
        int | None,
        typer.Option("--partitions", "-p", callback=at_least(1, PARTITIONS_MAX), help="Grow to so many partitions."),
    ] = None,
    config: Configs = None,
    unset: Annotated[list[str] | None, typer.Option("--unset", metavar="KEY", help="Back to the default.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only check whether it could be done.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Change a topic's settings, or add partitions."""
    configs = assignments(config or (), "--config")
    if partitions is None and not configs and not unset:
        raise typer.BadParameter("nothing to change: give --partitions, --config or --unset")
    with connect(bootstrap, timeout) as client:
        admin = Admin(client)
        if configs or unset:
            client.topic(name)
            check_names(admin, TOPIC, name, [*configs, *(unset or ())])
            admin.alter_configs(TOPIC, name, configs, unset or (), validate_only=dry_run)
        if partitions is not None:
            admin.add_partitions(name, partitions, validate_only=dry_run)
            say(f"warning: {KEYS_MOVE}")
    facts = {"topic": name, "changed": not dry_run, "partitions": partitions, "set": configs, "unset": unset or []}
    _report(output, f"topic {name} {'could be' if dry_run else 'is'} changed", facts)


app.command("delete")(delete)
app.command("offsets")(offsets)
app.command("delete-records")(delete_records)


def _explain(failure: ClientError, configs: Iterable[str]) -> None:
    """A name that no topic's setting has is most likely misspelled."""
    if failure.code == ErrorCode.INVALID_CONFIG:
        from penstock.core.base.settings import TOPIC_KEYS

        for name in configs:
            if name not in TOPIC_KEYS and (near := nearest(name, TOPIC_KEYS)):
                raise Refused(str(failure), near) from None


def _partition_rows(client: Client, topic: TopicView) -> list[tuple[Any, ...]]:
    places = [TopicPartition(topic.name, partition.number) for partition in topic.partitions]
    found, sizes = known_edges(client, places), sizes_of(client)
    if unknown := [where.partition for where in places if where not in found]:
        say(f"nobody who answers leads partition {_numbers(unknown)}: its offsets are not known")
    return [
        (
            partition.number,
            None if partition.leader == NO_NODE else partition.leader,
            list(partition.replicas),
            list(partition.in_sync),
            *found.get(where, (None, None)),
            sizes.get(where, 0),
        )
        for partition, where in zip(topic.partitions, places, strict=True)
    ]


def _report(output: Output, line: str, facts: dict[str, Any]) -> None:
    """What was done: talk for a person, an object for a program."""
    if output is Output.JSON:
        print_json(facts)
    else:
        say(line)


def _copies(topic: TopicView) -> int:
    return max((len(partition.replicas) for partition in topic.partitions), default=0)


def _numbers(numbers: list[int]) -> str:
    return ",".join(map(str, numbers))
