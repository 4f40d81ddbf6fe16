"""How a client's configuration comes about: a bootstrap address, our defaults, and whatever librdkafka knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from penstock.api.security import with_security

_OURS: Final = frozenset({"bootstrap.servers", "group.id", "transactional.id"})
_SILENT: Final = {"log_level": 0}


def client_config(
    bootstrap: str, defaults: Mapping[str, Any], given: Mapping[str, Any] | None, fixed: Mapping[str, Any]
) -> dict[str, Any]:
    """`fixed` is what a class relies on: whoever sets it otherwise is told, instead of being surprised later."""
    if not isinstance(bootstrap, str) or not bootstrap.strip():
        raise ValueError("bootstrap is the address of a broker, such as 'localhost:9092'")
    given = with_security(given or {})
    for name in given:
        if name in _OURS:
            raise ValueError(f"{name} has an argument of its own; leave it out of config")
        if name in fixed and given[name] != fixed[name]:
            raise ValueError(f"{name} cannot be changed here: it is {fixed[name]!r}, and the class relies on it")
    return {**_SILENT, "bootstrap.servers": bootstrap, **defaults, **given, **fixed}
