"""`penstock storage import`: a data folder out of what a stopped Kafka left."""

from typing import Annotated

import typer

from penstock.cli.output import Output
from penstock.cli.session import OutputOption


def import_(
    kafka_log_dir: Annotated[
        list[str], typer.Option(help="A log dir of a stopped Kafka; repeat it for further ones, also of other nodes.")
    ],
    config: Annotated[str | None, typer.Option("--config", "-c", help="server.properties of the new node.")] = None,
    data_dir: Annotated[str | None, typer.Option(help="Or: a new folder for `penstock up`.")] = None,
    link: Annotated[bool, typer.Option("--link", help="Share closed segments with Kafka instead of copying.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Take topics, records, settings and groups' offsets of a stopped Kafka into a new data folder. Kafka's folders
    stay as they are."""
    # The other commands for folders start faster without all that reads logs and metadata.
    from penstock.cli.importing.run import Wish, run

    run(kafka_log_dir, Wish(config, data_dir, link, dry_run, output))
