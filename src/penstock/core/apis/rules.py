"""Whether access rules are kept at all: only where an authorizer looks at them."""

from __future__ import annotations

from typing import Final

from penstock.core.base.errors import ApiError, ErrorCode
from penstock.core.base.settings import BrokerSettings

NO_AUTHORIZER: Final = "No authorizer is configured (authorizer.class.name)."


def is_kept(settings: BrokerSettings) -> bool:
    return bool(settings["authorizer.class.name"])


def check_kept(settings: BrokerSettings) -> None:
    if not is_kept(settings):
        raise ApiError(ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER)
