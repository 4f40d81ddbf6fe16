"""`penstock config`: settings of topics and brokers, and what becomes of a settings file here."""

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli import completion
from penstock.cli.arguments import assignments
from penstock.cli.output import Output, print_json, print_rows
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, OutputOption, Timeout, connect
from penstock.cli.setting_names import check_names
from penstock.cli.talk import Refused, not_text, say
from penstock.client.admin import BROKER, TOPIC, Admin
from penstock.core.base.settings import SettingError, check_file

app = typer.Typer(help="Look at settings, change them, check a file.", no_args_is_help=True)

ALL_BROKERS = "default"
TopicOption = Annotated[str | None, typer.Option(help="The topic.", autocompletion=completion.topics)]
BrokerOption = Annotated[
    str | None,
    typer.Option(
        metavar="N|default", callback=lambda text: _check_broker(text), help="A broker's number, or `default` for all."
    ),
]


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="A server.properties file.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Say what each setting of a file does here; fails if a node would refuse to start with it."""
    try:
        text = file.read_text("utf-8")
    except OSError as failure:
        raise Refused(f"cannot read {file}: {failure.strerror}", "check the path") from None
    except UnicodeDecodeError:
        raise not_text(str(file)) from None
    try:
        checked = check_file(text)
    except SettingError as failure:
        raise Refused(f"cannot read {file}: {failure}", "settings are lines of key=value") from None
    rows = [(one.name, one.value, one.standing.value, one.message) for one in checked]
    print_rows(output, ("setting", "value", "class", "remark"), rows)
    if wrong := [one.name for one in checked if one.is_fatal]:
        raise Refused(f"a node refuses to start with {file}: {', '.join(wrong)}", "the remarks say why")


@app.command()
def describe(
    topic: TopicOption = None,
    broker: BrokerOption = None,
    all_: Annotated[bool, typer.Option("--all", help="Defaults too.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Show the settings of a topic or a broker."""
    kind, name = _resource(topic, broker)
    with connect(bootstrap, timeout) as client:
        if kind == TOPIC:
            client.topic(name)
        settings = Admin(client).describe_configs(kind, name)
    rows = [
        (one.name, "[hidden]" if one.is_sensitive else one.value, one.source, "no" if one.is_read_only else "yes")
        for one in settings
        if all_ or not one.is_default
    ]
    print_rows(output, ("setting", "value", "source", "can change"), rows)
    if not rows and output is Output.TABLE:
        say("everything is at its default: see --all")


@app.command()
def alter(
    topic: TopicOption = None,
    broker: BrokerOption = None,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set a value.")] = None,
    unset: Annotated[list[str] | None, typer.Option("--unset", metavar="KEY", help="Back to the default.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only check whether it could be done.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Change settings of a topic or a broker while it runs; all of them or none."""
    kind, name = _resource(topic, broker)
    changes = assignments(set_ or (), "--set")
    if not changes and not unset:
        raise typer.BadParameter("nothing to change: give --set or --unset")
    with connect(bootstrap, timeout) as client:
        if kind == TOPIC:
            client.topic(name)
        admin = Admin(client)
        check_names(admin, kind, name, [*changes, *(unset or ())])
        admin.alter_configs(kind, name, changes, unset or (), validate_only=dry_run)
    if output is Output.JSON:
        print_json({"changed": not dry_run, "set": changes, "unset": unset or []})
    else:
        say("the settings could be changed" if dry_run else "the settings are changed")


def _resource(topic: str | None, broker: str | None) -> tuple[int, str]:
    if (topic is None) == (broker is None):
        raise typer.BadParameter("give either --topic or --broker")
    if topic is not None:
        return TOPIC, topic
    assert broker is not None
    return BROKER, "" if broker == ALL_BROKERS else str(int(broker))


def _check_broker(text: str | None) -> str | None:
    if text is None or text == ALL_BROKERS or text.isdecimal():
        return text
    raise typer.BadParameter(f"{text!r} is neither a broker's number, as in `penstock cluster info`, nor {ALL_BROKERS}")
