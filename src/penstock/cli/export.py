"""`penstock export`: a cluster as the file that `penstock apply` makes one of."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from penstock.cli.apply import require_yaml
from penstock.cli.output import Output, print_json
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, OutputOption, Timeout, connect
from penstock.cli.talk import say
from penstock.client.declared.marked import Value
from penstock.client.errors import ClientError
from penstock.core.base.errors import ErrorCode


class Part(StrEnum):
    """What `--only` takes."""

    BROKERS = "brokers"
    TENANTS = "tenants"
    USERS = "users"
    TOPICS = "topics"
    ACLS = "acls"
    QUOTAS = "quotas"
    SCHEMAS = "schemas"


def export(
    only: Annotated[list[Part] | None, typer.Option(help="Only this part; may be repeated.")] = None,
    registry: Annotated[
        str | None,
        typer.Option("--registry", envvar="PENSTOCK_REGISTRY", metavar="URL,...", help="Also what this registry has."),
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Print a cluster as the file that `penstock apply` takes. Passwords are named, and not in it."""
    require_yaml()
    from penstock.client.declared.kinds import KINDS
    from penstock.client.declared.scene import Scene
    from penstock.client.declared.yaml_text import write_yaml
    from penstock.client.registry import RegistryClient

    wanted = [name for name in KINDS if name in only] if only else [name for name in KINDS if name != Part.SCHEMAS]
    if registry is not None and not only:
        wanted.append(Part.SCHEMAS.value)
    found: dict[str, Value] = {}
    with connect(bootstrap, timeout) as client:
        scene = Scene(client, None if registry is None else RegistryClient(registry))
        for name in wanted:
            try:
                part = KINDS[name].export(scene)
            except ClientError as failure:
                if failure.code is not ErrorCode.SECURITY_DISABLED:
                    raise
                # Without an authorizer there are no rules to tell.
                continue
            if part or only:
                found[name] = part
    if output is Output.JSON:
        print_json(found)
    else:
        print(write_yaml(found), end="", flush=True)
    if secrets := [name for name in (Part.USERS, Part.TENANTS) if name in found]:
        say(f"passwords are not told: those of {' and '.join(secrets)} are read from the variables that the file names")
