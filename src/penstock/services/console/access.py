"""Who may do what, and how much: users, access rules, quotas, tenants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from starlette.responses import Response

from penstock.client.acls import Acls, Filter, Rule
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.quotas import WORDS, alter_quotas, entity_text, quotas
from penstock.client.tenants import tenants
from penstock.client.users import delete_user, set_password, users
from penstock.core.access.words import Operation, PatternType, Permission, Resource
from penstock.core.base.mechanisms import SCRAM_NUMBERS
from penstock.core.base.quotas import QuotaEntity
from penstock.services.console.mistakes import Mistake
from penstock.services.console.page import Page, Visit
from penstock.services.console.paging import page_of

NAMED: Final = ("user", "client-id", "ip")
T = TypeVar("T")


def told(look: Callable[[], T]) -> tuple[T | None, str]:
    """What there is, or why it cannot be seen; one part of the page must not take the others with it."""
    try:
        return look(), ""
    except ClientError as failure:
        if failure.is_absence:
            raise
        return None, f"{failure} ({failure.hint})" if failure.hint else str(failure)


async def access(visit: Visit) -> Response:
    def look(client: Client) -> dict[str, Any]:
        return {
            "users": told(lambda: sorted(users(client).items())),
            "rules": told(lambda: Acls(client).find(Filter())),
            "quotas": told(lambda: [(entity_text(each.entity), each) for each in quotas(client)]),
            "tenants": told(lambda: tenants(client)),
        }

    found = await visit.ask(look)
    wanted = visit.asked("q").lower()
    rules, why = found.pop("rules")
    page = page_of([each for each in rules or () if wanted in each.text.lower()], visit.number("page", 1))
    words: dict[str, Any] = {
        "operations": _words(Operation),
        "resources": _words(Resource),
        "patterns": ("LITERAL", "PREFIXED"),
    }
    return visit.show(
        "access.html",
        page=page,
        rules_why=why,
        query={"q": visit.asked("q")},
        limits=WORDS,
        kinds=NAMED,
        **words,
        **found,
    )


def _words(of: type[Operation] | type[Resource]) -> list[str]:
    return [each.name for each in of]


async def add_user(visit: Visit) -> Response:
    """Also gives one that there is another password."""
    name, password = visit.given("user").strip(), visit.given("password")
    if not name or not password:
        raise Mistake("a user has a name and a password")
    await visit.ask(lambda client: set_password(client, name, password, SCRAM_NUMBERS))
    return visit.go("/access", f"user {name} gets in with that password")


async def remove_user(visit: Visit) -> Response:
    name = visit.given("user")
    visit.require_typed(name)

    def perform(client: Client) -> None:
        known = users(client, name)
        if name not in known:
            raise Mistake(f"there is no user {name[:60]}", None, 404)
        delete_user(client, name, known[name])

    await visit.ask(perform)
    return visit.go("/access", f"user {name} is gone")


def rule_in(visit: Visit) -> Rule:
    principal, name = visit.given("principal").strip(), visit.given("name").strip()
    if not principal or not name:
        raise Mistake("a rule says who, and about what", "such as User:ann and orders; * is everybody, or everything")
    try:
        return Rule(
            principal if ":" in principal else f"User:{principal}",
            Permission[visit.given("permission")],
            Operation[visit.given("operation")],
            Resource[visit.given("resource")],
            name,
            PatternType[visit.given("pattern")],
            visit.given("host").strip() or "*",
        )
    except KeyError as unknown:
        raise Mistake(f"{unknown} is no word of access rules") from None


async def add_rule(visit: Visit) -> Response:
    rule = rule_in(visit)
    await visit.ask(lambda client: Acls(client).add([rule]))
    return visit.go("/access", f"from now on: {rule.text}")


async def remove_rule(visit: Visit) -> Response:
    rule = rule_in(visit)
    exactly = Filter(rule.principal, rule.permission, rule.operation, rule.resource, rule.name, rule.pattern, rule.host)
    gone = await visit.ask(lambda client: Acls(client).remove(exactly))
    return visit.go("/access", f"{len(gone)} rules are gone: {rule.text}")


async def set_quota(visit: Visit) -> Response:
    """An empty limit takes it away."""
    kind, name, limit = visit.given("kind"), visit.given("name").strip(), visit.given("limit")
    if kind not in NAMED or limit not in WORDS:
        raise Mistake("that is no quota", f"of {', '.join(NAMED)}: {', '.join(WORDS)}")
    try:
        value = float(visit.given("value")) if visit.given("value").strip() else None
    except ValueError:
        raise Mistake(f"{visit.given('value')[:40]!r} is no number") from None
    entity: QuotaEntity = ((kind, name or None),)
    await visit.ask(lambda client: alter_quotas(client, entity, {WORDS[limit]: value}))
    return visit.go("/access", f"{entity_text(entity)}: {limit} is {'not limited' if value is None else value} now")


PAGE: Final = Page(
    "access",
    "Access",
    "/access",
    "a",
    {"/access": access},
    {
        "/access/user": add_user,
        "/access/user/remove": remove_user,
        "/access/rule": add_rule,
        "/access/rule/remove": remove_rule,
        "/access/quota": set_quota,
    },
)
