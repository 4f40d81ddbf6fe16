"""The full application: every command with help and completion, for everything that need not be instant."""

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import typer

from penstock import __version__
from penstock.cli import cluster, config, consume, group, plain, produce, sim, storage, topic
from penstock.cli.kafka_words import instead_of
from penstock.cli.talk import Refused, complain
from penstock.client.errors import ClientError
from penstock.core.base.errors import PenstockError
from penstock.core.base.settings import SettingError

# Typer keeps this class of its parser under another name in each version.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

EXTENSIONS = "penstock.commands"

app = typer.Typer(
    name="penstock",
    help="A commit log that speaks Kafka's protocol. Start one with `penstock up`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
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
    if not arguments or arguments[0] not in _own_commands():
        _add_extensions()
    try:
        command = typer.main.get_command(app)
        with command.make_context("penstock", list(arguments)) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except _UsageError as misuse:
        return _correct(misuse)
    except (Refused, ClientError) as failure:
        return complain(str(failure), failure.hint)
    except SettingError as failure:
        return complain("; ".join(failure.problems))
    except PenstockError as failure:
        return complain(str(failure))
    return 0


def _correct(misuse: Any) -> int:
    """Say what is wrong with a command; one without any arguments has shown its help already."""
    if message := misuse.format_message():
        path = misuse.ctx.command_path if misuse.ctx is not None else "penstock"
        hint = instead_of(getattr(misuse, "option_name", None)) or f"see `{path} --help`"
        complain(" ".join(message.split()).removeprefix("Invalid value: "), hint)
    return plain.USAGE


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
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


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
app.add_typer(group.app, name="group")
app.add_typer(cluster.app, name="cluster")
app.add_typer(config.app, name="config")
app.add_typer(storage.app, name="storage")
app.command("sim")(sim.sim)
