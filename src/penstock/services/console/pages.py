"""All pages, in the order of the menu. A page is added by writing its module and naming it here."""

from __future__ import annotations

from typing import Final

from penstock.services.console import overview, topics
from penstock.services.console.page import Page

PAGES: Final[tuple[Page, ...]] = (overview.PAGE, topics.PAGE)
