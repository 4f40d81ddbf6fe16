"""`penstock user`: who may log in with a password (SCRAM)."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping
from getpass import getpass
from typing import Annotated, Final

import typer

from penstock.cli.output import Output, print_json, print_rows
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, Execute, OutputOption, Timeout, connect
from penstock.cli.talk import Misused, Refused, say
from penstock.client.users import Iterations, delete_user, set_password, users
from penstock.core.base.mechanisms import SCRAM_NUMBERS

app = typer.Typer(help="Manage users that log in with a password (SCRAM).", no_args_is_help=True)

GENERATED_BYTES: Final = 18

Name = Annotated[str, typer.Argument(metavar="NAME", help="The user's name; its principal is User:NAME.")]
Mechanisms = Annotated[
    list[str] | None,
    typer.Option("--mechanism", metavar="MECHANISM", help="SCRAM-SHA-256 or SCRAM-SHA-512; both by default."),
]
Generate = Annotated[bool, typer.Option("--generate", help="Make up a password and print it.")]


@app.command("list")
def list_(
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, output: OutputOption = Output.TABLE, timeout: Timeout = TIMEOUT_SECONDS
) -> None:
    """List users and their mechanisms."""
    with connect(bootstrap, timeout) as client:
        found = users(client)
    if output is Output.JSON:
        print_json([{"user": name, "mechanisms": dict(each)} for name, each in found.items()])
    elif found:
        print_rows(output, ("user", "mechanisms"), [(name, ", ".join(each)) for name, each in found.items()])
    else:
        say("there are no users; make one with `penstock user add NAME`")


@app.command()
def add(
    name: Name,
    mechanism: Mechanisms = None,
    generate: Generate = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Make a user. The password is asked for, or read from the standard input."""
    chosen = _mechanisms(mechanism)
    with connect(bootstrap, timeout) as client:
        if name in users(client, name):
            raise Refused(f"there is a user {name} already", f"`penstock user password {name}` gives another password")
        set_password(client, name, _password(generate), chosen)
    say(f"user {name} may log in with {' or '.join(chosen)}")


@app.command()
def password(
    name: Name, generate: Generate = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, timeout: Timeout = TIMEOUT_SECONDS
) -> None:
    """Give a user another password. Connections that stand stay, unless sessions end (connections.max.reauth.ms)."""
    with connect(bootstrap, timeout) as client:
        known = _known(users(client, name), name)
        set_password(client, name, _password(generate), known)
    say(f"user {name} has another password")


@app.command()
def delete(
    name: Name,
    execute: Execute = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Let a user log in no more."""
    with connect(bootstrap, timeout) as client:
        known = _known(users(client, name), name)
        if not execute:
            say(f"user {name} may log in with {' or '.join(known)}; nothing was done: --execute does it")
            return
        delete_user(client, name, known)
    say(f"user {name} is deleted; connections that stand stay until they end")


def _known(found: Mapping[str, Iterations], name: str) -> list[str]:
    if name not in found:
        raise Refused(f"there is no user {name}", "`penstock user list` lists them")
    return list(found[name])


def _mechanisms(asked: list[str] | None) -> list[str]:
    for each in asked or ():
        if each not in SCRAM_NUMBERS:
            raise typer.BadParameter(f"{each!r} is neither of {', '.join(SCRAM_NUMBERS)}", param_hint="--mechanism")
    return asked or list(SCRAM_NUMBERS)


def _password(generate: bool) -> str:
    """Never an argument: those are seen by everybody on the machine."""
    if generate:
        made = secrets.token_urlsafe(GENERATED_BYTES)
        print(made)
        return made
    if not sys.stdin.isatty():
        given = sys.stdin.readline().rstrip("\n")
    else:
        given = getpass("password: ")
        if given != getpass("again: "):
            raise Misused("the two passwords are not the same", "type them again")
    if not given:
        raise Misused("an empty password", "type one, give one on the standard input, or --generate")
    return given
