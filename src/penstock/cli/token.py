"""`penstock token`: delegation tokens, which stand for whoever made them and are given to jobs, not passwords."""

from __future__ import annotations

from base64 import b64encode
from typing import Annotated, Any

import typer

from penstock.cli.arguments import duration_ms, time_text
from penstock.cli.output import Output, print_json, print_rows
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, Execute, OutputOption, Timeout, connect
from penstock.cli.talk import say
from penstock.client.delegation_tokens import (
    AS_LONG_AS_MAY_BE,
    AT_ONCE,
    create_token,
    expire_token,
    login_settings,
    renew_token,
    token,
    tokens,
)
from penstock.core.wire.api.describe_delegation_token import DescribedDelegationToken

app = typer.Typer(help="Manage delegation tokens (delegation.token.secret.key).", no_args_is_help=True)

Id = Annotated[str, typer.Argument(metavar="ID", help="The token's id, as `penstock token list` shows it.")]
Owner = Annotated[str | None, typer.Option("--owner", metavar="NAME", help="For this user, in place of yourself.")]
Owners = Annotated[list[str] | None, typer.Option("--owner", metavar="NAME", help="Only tokens of this user.")]
Renewers = Annotated[
    list[str] | None, typer.Option("--renewer", metavar="NAME", help="This user may renew and end it, too.")
]
Lifetime = Annotated[
    str | None, typer.Option("--lifetime", metavar="TIME", help="It ends after 12h or 7d, however often it is renewed.")
]
For = Annotated[str | None, typer.Option("--for", metavar="TIME", help="For 12h or 7d; else as long as may be.")]
In = Annotated[str | None, typer.Option("--in", metavar="TIME", help="After 1h, say; else at once.")]


@app.command()
def create(
    owner: Owner = None,
    renewer: Renewers = None,
    lifetime: Lifetime = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Make a token, and print the settings that a client gets in with. Whoever reads them can get in."""
    longest_ms = AS_LONG_AS_MAY_BE if lifetime is None else duration_ms(lifetime, "--lifetime")
    with connect(bootstrap, timeout) as client:
        made = create_token(client, _principal(owner), [_user(each) for each in renewer or ()], longest_ms)
    proof = b64encode(made.hmac).decode()
    if output is Output.JSON:
        times = {"expires_ms": made.expiry_timestamp_ms, "latest_ms": made.max_timestamp_ms}
        whose = f"{made.principal_type}:{made.principal_name}"
        print_json({"token": made.token_id, "hmac": proof, "owner": whose, **times})
        return
    for name, value in login_settings(made.token_id, proof).items():
        print(f"{name}={value}")
    say(
        f"token {made.token_id} of {made.principal_type}:{made.principal_name} is good until "
        f"{time_text(made.expiry_timestamp_ms)}; renewed, until {time_text(made.max_timestamp_ms)}"
    )


@app.command("list")
def list_(
    owner: Owners = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """List the tokens that you may see: yours, those you may renew, those that rules show you. Never their proofs."""
    with connect(bootstrap, timeout) as client:
        found = tokens(client, [_user(each) for each in owner or ()])
    shown = [_shown(each) for each in sorted(found, key=lambda each: each.issue_timestamp)]
    if output is Output.JSON:
        print_json(shown)
    elif shown:
        rows = [
            (
                each["token"],
                each["owner"],
                each["requester"],
                ", ".join(each["renewers"]),
                time_text(each["expires_ms"]),
                time_text(each["latest_ms"]),
            )
            for each in shown
        ]
        print_rows(output, ("token", "owner", "requester", "renewers", "expires", "latest"), rows)
    else:
        say("there are no tokens that you may see; `penstock token create` makes one")


@app.command()
def renew(
    token_id: Id,
    for_: For = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Let a token live longer, up to its longest life."""
    longer_ms = AS_LONG_AS_MAY_BE if for_ is None else duration_ms(for_, "--for")
    with connect(bootstrap, timeout) as client:
        ends_ms = renew_token(client, token(client, token_id).hmac, longer_ms)
    say(f"token {token_id} is good until {time_text(ends_ms)}")


@app.command()
def expire(
    token_id: Id,
    in_: In = None,
    execute: Execute = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """End a token, at once or after some time. Sessions that it has begun go on until they end."""
    in_ms = AT_ONCE if in_ is None else duration_ms(in_, "--in")
    with connect(bootstrap, timeout) as client:
        found = token(client, token_id)
        if not execute:
            whose = f"{found.principal_type}:{found.principal_name}"
            say(
                f"token {token_id} of {whose} is good until {time_text(found.expiry_timestamp)}; "
                "nothing was done: --execute does it"
            )
            return
        ends_ms = expire_token(client, found.hmac, in_ms)
    say(f"token {token_id} is ended" if in_ms == AT_ONCE else f"token {token_id} is good until {time_text(ends_ms)}")


def _shown(found: DescribedDelegationToken) -> dict[str, Any]:
    asked = f"{found.token_requester_principal_type}:{found.token_requester_principal_name}"
    return {
        "token": found.token_id,
        "owner": f"{found.principal_type}:{found.principal_name}",
        "requester": asked if asked != ":" else None,
        "renewers": [f"{each.principal_type}:{each.principal_name}" for each in found.renewers],
        "issued_ms": found.issue_timestamp,
        "expires_ms": found.expiry_timestamp,
        "latest_ms": found.max_timestamp,
    }


def _user(name: str) -> str:
    return name if ":" in name else f"User:{name}"


def _principal(name: str | None) -> str | None:
    return None if name is None else _user(name)
