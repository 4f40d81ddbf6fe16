"""What must hold between settings about who may do what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from penstock.core.base.settings.key import SettingError

STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def authorizer_rules(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    name = "authorizer.class.name"
    if values[name] not in ("", STANDARD_AUTHORIZER):
        yield name, f"Java classes cannot be run; {STANDARD_AUTHORIZER} is built in"
    try:
        super_users(values["super.users"])
    except SettingError as error:
        yield "super.users", str(error)


def super_users(text: str) -> frozenset[str]:
    """`User:alice;User:bob`: a principal's name may have commas in it."""
    found = frozenset(filter(None, (each.strip() for each in text.split(";"))))
    for each in found:
        if ":" not in each:
            raise SettingError(f"super.users: {each!r} is no principal: write its type in front, as in User:{each}")
    return found
