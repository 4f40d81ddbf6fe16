"""All pages, in the order of the menu. A page is added by writing its module and naming it here."""

from __future__ import annotations

from typing import Final

from penstock.services.console import (
    access,
    audit,
    brokers,
    dead_letters,
    groups,
    overview,
    pipelines,
    quorum,
    schemas,
    topics,
    transactions,
)
from penstock.services.console.page import Page

PAGES: Final[tuple[Page, ...]] = (
    overview.PAGE,
    topics.PAGE,
    groups.PAGE,
    dead_letters.PAGE,
    pipelines.PAGE,
    schemas.PAGE,
    brokers.PAGE,
    quorum.PAGE,
    transactions.PAGE,
    access.PAGE,
    audit.PAGE,
)
