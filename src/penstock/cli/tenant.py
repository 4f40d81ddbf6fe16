"""`penstock tenant`: a user, its rules, its quotas and its share of partitions, in one step."""

from __future__ import annotations

import re
import secrets
from typing import Annotated, Any, Final

import typer

from penstock.cli.arguments import at_least
from penstock.cli.output import Output, print_facts, print_json, print_rows
from penstock.cli.quota import bytes_of
from penstock.cli.session import DEFAULT_BOOTSTRAP, TIMEOUT_SECONDS, Bootstrap, Execute, OutputOption, Timeout, connect
from penstock.cli.talk import Refused, say
from penstock.client import tenants
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.tenants import Usage, principal_of, usage
from penstock.core.base.errors import ErrorCode
from penstock.core.base.quotas import FETCH, PRODUCE
from penstock.core.base.settings.tenants import Tenant

app = typer.Typer(help="Share a cluster among tenants.", no_args_is_help=True)

PARTITIONS: Final = 100
PASSWORD_BYTES: Final = 18
COLUMNS = ("tenant", "prefix", "topics", "partitions", "of at most", "produce", "fetch")
_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,200}")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The tenant; its user has the same name.")]


@app.command()
def create(
    name: Name,
    prefix: Annotated[
        str | None, typer.Option(metavar="TEXT", help="How its topics, groups and transactional ids begin: 'NAME.'.")
    ] = None,
    produce: Annotated[str | None, typer.Option(metavar="BYTES", help="Bytes per second: 500k, 10M.")] = None,
    fetch: Annotated[str | None, typer.Option(metavar="BYTES", help="Bytes per second: 500k, 20M.")] = None,
    partitions: Annotated[
        int, typer.Option(metavar="N", callback=at_least(1), help="How many its topics may have together.")
    ] = PARTITIONS,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Make a user with a password, which is printed once, and give it what begins with the prefix."""
    tenant = _checked(Tenant(name, f"{name}." if prefix is None else prefix, partitions))
    given = ((PRODUCE, "--produce", produce), (FETCH, "--fetch", fetch))
    limits = {key: float(bytes_of(text, option)) for key, option, text in given if text is not None}
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    with connect(bootstrap, timeout) as client:
        if name in {each.name for each in tenants.tenants(client)}:
            raise Refused(f"there is a tenant {name} already", f"look at it with `penstock tenant describe {name}`")
        try:
            tenants.create(client, tenant, limits, password)
        except ClientError as error:
            if error.code is ErrorCode.SECURITY_DISABLED:
                hint = "set authorizer.class.name, and listeners at which users log in: docs/operations.md says how"
                raise Refused("this cluster has no access rules, so tenants could not be kept apart", hint) from None
            raise
    print_facts(output, {"tenant": name, "prefix": tenant.prefix, "user": name, "password": password})
    say(f"tenant {name} owns what begins with {tenant.prefix!r}; the password is not shown again")


@app.command("list")
def list_(
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, output: OutputOption = Output.TABLE, timeout: Timeout = TIMEOUT_SECONDS
) -> None:
    """List tenants, and what they have of what they may have."""
    with connect(bootstrap, timeout) as client:
        found = [usage(client, each) for each in tenants.tenants(client)]
    if output is Output.JSON:
        print_json([_facts(each) for each in found])
    elif found:
        print_rows(output, COLUMNS, [_row(each) for each in found])
    else:
        say("there are no tenants; make one with `penstock tenant create NAME`")


@app.command()
def describe(
    name: Name,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    output: OutputOption = Output.TABLE,
    timeout: Timeout = TIMEOUT_SECONDS,
) -> None:
    """Show what a tenant may do and have, and what it uses."""
    with connect(bootstrap, timeout) as client:
        found = usage(client, _known(client, name))
    print_facts(output, _facts(found))


@app.command()
def delete(
    name: Name, execute: Execute = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, timeout: Timeout = TIMEOUT_SECONDS
) -> None:
    """Take a tenant's user, rules, quotas and limit away. Its topics stay."""
    with connect(bootstrap, timeout) as client:
        tenant = _known(client, name)
        found = usage(client, tenant)
        if execute:
            tenants.delete(client, tenant)
    stay = f"{found.topics} topics that begin with {tenant.prefix!r}"
    if execute:
        say(f"tenant {name} is deleted; {stay} stay")
    else:
        say(f"tenant {name}: its user, rules and quotas would go, and {stay} stay; add --execute to do it")


def _checked(tenant: Tenant) -> Tenant:
    for text, what in ((tenant.name, "NAME"), (tenant.prefix, "--prefix")):
        if not _NAME.fullmatch(text):
            raise typer.BadParameter(f"{text!r} is not made of letters, digits, '.', '_' and '-'", param_hint=what)
    return tenant


def _known(client: Client, name: str) -> Tenant:
    found = next((each for each in tenants.tenants(client) if each.name == name), None)
    if found is None:
        raise Refused(f"there is no tenant {name}", "`penstock tenant list` lists them")
    return found


def _facts(found: Usage) -> dict[str, Any]:
    return {
        "tenant": found.tenant.name,
        "prefix": found.tenant.prefix,
        "principal": principal_of(found.tenant),
        "can log in": found.has_user,
        "topics": found.topics,
        "partitions": found.partitions,
        "partitions at most": found.tenant.partitions_max,
        **found.quotas,
    }


def _row(found: Usage) -> tuple[Any, ...]:
    rates = (found.quotas.get(key) for key in (PRODUCE, FETCH))
    shown = ("" if rate is None else f"{rate:.0f}" for rate in rates)
    tenant = found.tenant
    return (tenant.name, tenant.prefix, found.topics, found.partitions, tenant.partitions_max, *shown)
