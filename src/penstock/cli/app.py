"""The full application: every command with help and completion, for everything that need not be instant."""

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import typer

from penstock import __version__
from penstock.cli import cluster, config, consume, group, plain, produce, storage, topic
from penstock.cli.talk import Refused, complain
from penstock.client.errors import ClientError
from penstock.core.base.errors import PenstockError
from penstock.core.base.settings import SettingError

app = typer.Typer(
    name="penstock",
    help="A commit log that speaks Kafka's protocol. Start one with `penstock up`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def run(arguments: Sequence[str]) -> int:
    """Perform a command; what fails on purpose becomes one line with a hint."""
    try:
        app(args=list(arguments), prog_name="penstock")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except (Refused, ClientError) as failure:
        return complain(str(failure), failure.hint)
    except SettingError as failure:
        return complain("; ".join(failure.problems))
    except PenstockError as failure:
        return complain(str(failure))
    return 0


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
app.command()(produce.produce)
app.command()(consume.consume)
app.add_typer(group.app, name="group")
app.add_typer(cluster.app, name="cluster")
app.add_typer(config.app, name="config")
app.add_typer(storage.app, name="storage")
