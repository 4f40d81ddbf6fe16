"""`penstock topic delete`: topics go with all their records, shown before it is done."""

from typing import Annotated

import typer

from penstock.cli import completion
from penstock.cli.cluster_picture import sizes_of
from penstock.cli.output import Output, bytes_text, print_json, print_table
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, Execute, OutputOption, Timeout, connect
from penstock.cli.talk import Refused, say
from penstock.client.admin import Admin

COLUMNS = ("topic", "partitions", "size")


def delete(
    names: Annotated[list[str], typer.Argument(help="The topics.", autocompletion=completion.topics)],
    execute: Execute = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Delete topics with all their records: shows what would go unless --execute is given."""
    chosen = list(dict.fromkeys(names))
    with connect(bootstrap, timeout) as client:
        known = {topic.name: topic for topic in client.topics()}
        if missing := [name for name in chosen if name not in known]:
            raise Refused(f"there is no topic {', '.join(missing)}; nothing was deleted", "see `penstock topic list`")
        sizes = sizes_of(client)
        counts = {name: len(known[name].partitions) for name in chosen}
        held = {name: sum(size for where, size in sizes.items() if where.topic == name) for name in chosen}
        for name in chosen if execute else ():
            Admin(client).delete_topic(name)
    if output is Output.JSON:
        topics = [{"topic": name, "partitions": counts[name], "size": held[name]} for name in chosen]
        print_json({"deleted": chosen if execute else [], "topics": topics})
    elif not execute:
        print_table(COLUMNS, [(name, counts[name], bytes_text(held[name])) for name in chosen])
    say(f"deleted: {', '.join(chosen)}" if execute else "nothing is deleted yet: add --execute to do it")
