"""The commands that start and stop things, declared once as data and read without typer.

The plain parser below serves them in a few milliseconds; `cli.app` builds its help and completion from the same table.
"""

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple, NoReturn

from penstock.cli.talk import USED_WRONGLY, Refused, complain

DATA_DIR = "./penstock-data"
PORT = 9092
REGISTRY_PORT = 8081
CONSOLE_PORT = 8080
JSON = "json"


class Option(NamedTuple):
    """One option. `kind` is the type of its value; a `bool` takes none, a `list` may be given several times. With a
    `bare` value it may be given without one."""

    flag: str
    kind: type
    default: Any
    help: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    short: str = ""
    bare: str | None = None

    @property
    def flags(self) -> tuple[str, ...]:
        return (self.flag, self.short) if self.short else (self.flag,)

    @property
    def name(self) -> str:
        return self.flag.removeprefix("--").replace("-", "_")


class Command(NamedTuple):
    """One command; `action` names the function that performs it, imported when it is needed."""

    name: str
    help: str
    action: str
    options: tuple[Option, ...]


_DATA_DIR = Option("--data-dir", str, DATA_DIR, "the folder of the cluster", "DIR")
_SET = Option("--set", list, (), "a setting that wins over the file; may be repeated", "KEY=VALUE")
_LOG_FORMAT = Option("--log-format", str, None, "how nodes say what happens", choices=("text", JSON))
_OUTPUT = Option("--output", str, "table", "how to print the result", choices=("table", JSON), short="-o")

COMMANDS = (
    Command(
        "up",
        "Start a local cluster on loopback, or resume it.",
        "penstock.cli.up:up",
        (
            Option("--nodes", int, None, "how many nodes", "N"),
            _DATA_DIR,
            Option(
                "--port",
                int,
                None,
                f"node i listens on PORT + i - 1 (default: {PORT}, or as before); 0: free ones",
                "PORT",
            ),
            Option("--metrics-port", int, None, "metrics of node i are on P + i - 1 (default: PORT + 2000)", "P"),
            Option(
                "--host",
                str,
                None,
                "listen on this address (default: 127.0.0.1, or as before); 0.0.0.0: all",
                "ADDRESS",
            ),
            Option("--advertised-host", str, None, "the name that clients are told (default: the address)", "NAME"),
            Option("--config", str, None, "settings for every node, in Kafka's format", "FILE"),
            _SET,
            Option("--restart", bool, False, "start a node again when it dies"),
            Option("--detach", bool, False, "come back when all nodes serve; they go on in the background"),
            Option("--ephemeral", bool, False, "keep nothing: data goes to a temporary folder, and with the cluster"),
            Option("--registry", bool, False, f"serve schemas, too, on port {REGISTRY_PORT}"),
            Option("--registry-port", int, None, "serve schemas on this port", "P"),
            Option("--console", bool, False, f"serve the web console, too, on port {CONSOLE_PORT}"),
            Option("--console-port", int, None, "serve the web console on this port", "P"),
            Option("--secure", bool, False, "TLS, passwords (SCRAM), access rules and an admin; a folder stays so"),
            Option(
                "--join",
                str,
                None,
                "start one more node of a cluster that runs: of the folder's, or of the one at this address",
                "[HOST:PORT]",
                bare="",
            ),
            _LOG_FORMAT,
            _OUTPUT,
        ),
    ),
    Command("down", "Stop the cluster of a folder.", "penstock.cli.folder_commands:down", (_DATA_DIR,)),
    Command("status", "Say what runs in a folder.", "penstock.cli.folder_commands:status", (_DATA_DIR, _OUTPUT)),
    Command(
        "reset",
        "Delete the data of a stopped cluster.",
        "penstock.cli.folder_commands:reset",
        (_DATA_DIR, Option("--yes", bool, False, "really delete")),
    ),
    Command(
        "node",
        "Run one node in the foreground with Kafka's settings.",
        "penstock.cli.node:node",
        (Option("--config", str, None, "server.properties of the node", "FILE"), _SET, _LOG_FORMAT),
    ),
    Command(
        "registry",
        "Serve schemas of a cluster with Confluent's REST API.",
        "penstock.cli.registry:registry",
        (
            Option(
                "--bootstrap", str, "", "where brokers listen (default: 127.0.0.1:9092)", "HOST:PORT,...", short="-b"
            ),
            Option("--port", int, REGISTRY_PORT, "where to listen; 0: any free port", "PORT"),
            Option("--host", str, "127.0.0.1", "listen on this address; 0.0.0.0: all", "ADDRESS"),
            Option(
                "--advertised-host", str, None, "how other registries reach this one (default: the address)", "NAME"
            ),
            Option("--command-config", str, None, "a client's settings: how it gets in at the brokers", "FILE"),
            Option("--topic", str, "_schemas", "where schemas are kept", "TOPIC"),
            Option("--group", str, "schema-registry", "registries of one group choose who writes", "GROUP"),
            Option("--compatibility", str, "BACKWARD", "the level where nobody has set one", "LEVEL"),
            Option("--users", str, None, "ask for a name and a password: `cluster` (its SCRAM users) or a file", "WHO"),
            Option("--authorize", bool, False, "let the cluster's access rules say who may do what"),
            Option("--tls-cert", str, None, "serve HTTPS with this certificate and its chain (PEM)", "FILE"),
            Option("--tls-key", str, None, "its key (PEM, without a password)", "FILE"),
            Option("--tls-ca", str, None, "whom to trust when asking other registries (PEM)", "FILE"),
        ),
    ),
    Command(
        "console",
        "Show and mend a cluster in a browser.",
        "penstock.cli.console:console",
        (
            Option(
                "--bootstrap", str, "", "where brokers listen (default: 127.0.0.1:9092)", "HOST:PORT,...", short="-b"
            ),
            Option("--port", int, CONSOLE_PORT, "where to listen; 0: any free port", "PORT"),
            Option("--host", str, "127.0.0.1", "listen on this address; 0.0.0.0: all", "ADDRESS"),
            Option("--advertised-host", list, (), "a name that people call it by; may be repeated", "NAME"),
            Option("--command-config", str, None, "a client's settings: how it gets in at the brokers", "FILE"),
            Option("--registry", str, None, "where a schema registry answers", "URL"),
            Option("--read-only", bool, False, "nobody may change anything"),
            Option("--viewer", list, (), "a user who may only look; may be repeated", "NAME"),
            Option("--mask", list, (), "hide a field from who may only look: customers.*:value.email", "TOPIC:PATH"),
            Option("--tls-cert", str, None, "serve HTTPS with this certificate and its chain (PEM)", "FILE"),
            Option("--tls-key", str, None, "its key (PEM, without a password)", "FILE"),
        ),
    ),
)


def run(name: str, arguments: list[str]) -> int:
    """Parse and perform one of the commands above."""
    command = next(command for command in COMMANDS if command.name == name)
    try:
        options = vars(_parser(command).parse_args(arguments))
    except SystemExit as end:
        return USED_WRONGLY if end.code else 0
    return perform(command, options)


def perform(command: Command, options: dict[str, Any]) -> int:
    """Call the command's action; a refusal becomes one line and an exit code."""
    module, _, function = command.action.partition(":")
    action: Callable[..., int] = getattr(import_module(module), function)
    try:
        return action(**options)
    except Refused as refusal:
        return complain(refusal.message, refusal.hint, refusal.code)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line instead of repeating everything that would be right."""

    def error(self, message: str) -> NoReturn:
        raise SystemExit(complain(message, f"see `{self.prog} --help`", USED_WRONGLY))


def _whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None


def _parser(command: Command) -> argparse.ArgumentParser:
    parser = _Parser(prog=f"penstock {command.name}", description=command.help, allow_abbrev=False)
    for option in command.options:
        if option.kind is bool:
            parser.add_argument(*option.flags, action="store_true", help=option.help)
        elif option.kind is list:
            parser.add_argument(*option.flags, action="append", default=[], metavar=option.metavar, help=option.help)
        else:
            parser.add_argument(
                *option.flags,
                type=_whole_number if option.kind is int else option.kind,
                default=option.default,
                metavar=option.metavar or None,
                choices=option.choices or None,
                help=option.help,
                nargs=None if option.bare is None else "?",
                const=option.bare,
            )
    return parser
