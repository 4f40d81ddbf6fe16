"""The full application: every command with help and completion, for everything that need not be instant."""

import inspect
import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import typer

from penstock import __version__
from penstock.cli import (
    acl,
    apply,
    audit,
    backup,
    bench,
    cert,
    cluster,
    config,
    consume,
    debug,
    dlq,
    doctor,
    export,
    generate,
    group,
    plain,
    produce,
    query,
    quota,
    schema,
    session,
    sim,
    storage,
    tenant,
    token,
    top,
    topic,
    txn,
    user,
)
from penstock.cli.help_pages import complete_help
from penstock.cli.kafka_words import instead_of, option_before_command, other_command
from penstock.cli.nearby import where_instead
from penstock.cli.session import COMMAND_CONFIG
from penstock.cli.talk import USED_WRONGLY, Refused, complain
from penstock.client.errors import ClientError
from penstock.core.base.errors import PenstockError
from penstock.core.base.settings import SettingError

# Typer keeps this class of its parser under another name in each version.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

EXTENSIONS = "penstock.commands"
COMMAND_CONFIG_OPTION = "--command-config"

app = typer.Typer(
    name="penstock",
    help="A commit log that speaks Kafka's protocol. Start one with `penstock up`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def complete() -> int:
    """Answer the shell, which asks through variables what could come next."""
    _add_extensions()
    try:
        app(prog_name="penstock")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    return 0


def run(arguments: Sequence[str]) -> int:
    """Perform a command; what fails on purpose becomes one line with a hint."""
    arguments = _with_common_first(list(arguments))
    if not arguments or arguments[0] not in _own_commands():
        _add_extensions()
    command = typer.main.get_command(app)
    complete_help(command)
    try:
        with command.make_context("penstock", list(arguments)) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except _UsageError as misuse:
        return _correct(misuse, _called(command, arguments))
    except Refused as failure:
        return complain(failure.message, failure.hint, failure.code)
    except ClientError as failure:
        return complain(str(failure), where_instead(failure) or failure.hint)
    except SettingError as failure:
        return complain("; ".join(failure.problems))
    except PenstockError as failure:
        return complain(str(failure))
    return 0


def _with_common_first(arguments: list[str]) -> list[str]:
    """Kafka's tools take `--command-config` behind the command, where people write it."""
    for at, argument in enumerate(arguments):
        if argument == "--":
            break
        if argument == COMMAND_CONFIG_OPTION:
            return [*arguments[at : at + 2], *arguments[:at], *arguments[at + 2 :]]
        if argument.startswith(f"{COMMAND_CONFIG_OPTION}="):
            return [argument, *arguments[:at], *arguments[at + 1 :]]
    return arguments


def _called(command: Any, arguments: Sequence[str]) -> str:
    """The words of the command that was called, as far as there is one."""
    words = ["penstock"]
    for argument in arguments:
        command = getattr(command, "commands", {}).get(argument)
        if command is None:
            break
        words.append(argument)
    return " ".join(words)


def _correct(misuse: Any, path: str) -> int:
    """Say what is wrong with a command; one without any arguments has shown its help already."""
    if message := misuse.format_message():
        said = " ".join(message.split()).removeprefix("Invalid value: ")
        # An option that exists lacks a value, and is called as it should be.
        habit = instead_of(misuse.option_name) if hasattr(misuse, "possibilities") else None
        if path == "penstock":
            said, habit = other_command(said) or (said, option_before_command(said))
        complain(said, habit or f"see `{path} --help`")
    return USED_WRONGLY


def _own_commands() -> set[str | None]:
    return {one.name for one in app.registered_commands} | {one.name for one in app.registered_groups}


def _add_extensions() -> None:
    """Commands of the optional parts. Looking for them takes longer than many a command, so it is done when needed."""
    from importlib.metadata import entry_points

    known = _own_commands()
    for point in entry_points(group=EXTENSIONS):
        if point.name not in known:
            app.add_typer(point.load(), name=point.name)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"penstock {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    command_config: Annotated[
        str | None,
        typer.Option(
            COMMAND_CONFIG_OPTION,
            envvar=COMMAND_CONFIG,
            metavar="FILE",
            help="How clients get in: security.protocol, sasl.*, ssl.*, bootstrap.servers.",
        ),
    ] = None,
) -> None:
    """What holds for every command is kept where all of them find it, those of the optional parts too."""
    context.obj = session.command_config
    if command_config is not None:
        os.environ[COMMAND_CONFIG] = command_config


def _typer_command(command: plain.Command) -> Callable[..., None]:
    """A function with the signature that typer reads options from."""

    def perform(**options: Any) -> None:
        lists = {option.name: options[option.name] or [] for option in command.options if option.kind is list}
        sys.exit(plain.perform(command, options | lists))

    parameters = [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if option.kind is list else option.default,
            annotation=Annotated[
                _annotation(option), typer.Option(*option.flags, help=option.help, metavar=option.metavar or None)
            ],
        )
        for option in command.options
    ]
    perform.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # Typer reads what inspect reads.
    perform.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    perform.__doc__ = command.help
    return perform


def _annotation(option: plain.Option) -> Any:
    if option.choices:
        return Literal[option.choices]
    if option.kind is list:
        return list[str] | None
    return option.kind if option.default is not None else option.kind | None


for _command in plain.COMMANDS:
    app.command(_command.name)(_typer_command(_command))
app.add_typer(topic.app, name="topic")
app.command("produce")(produce.produce)
app.command("consume")(consume.consume)
app.command("query")(query.query)
app.add_typer(group.app, name="group")
app.add_typer(txn.app, name="txn")
app.add_typer(dlq.app, name="dlq")
app.add_typer(audit.app, name="audit")
app.add_typer(quota.app, name="quota")
app.add_typer(tenant.app, name="tenant")
app.add_typer(acl.app, name="acl")
app.add_typer(user.app, name="user")
app.add_typer(token.app, name="token")
app.add_typer(cert.app, name="cert")
app.add_typer(schema.app, name="schema")
app.add_typer(cluster.app, name="cluster")
app.add_typer(config.app, name="config")
app.add_typer(storage.app, name="storage")
app.add_typer(backup.app, name="backup")
app.add_typer(debug.app, name="debug")
app.add_typer(bench.app, name="bench")
app.add_typer(generate.app, name="generate")
app.command("apply")(apply.apply)
app.command("export")(export.export)
app.command("doctor")(doctor.doctor)
app.command("top")(top.top)
app.command("sim")(sim.sim)
