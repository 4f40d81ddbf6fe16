"""What Penstock does with each setting: one file per class, one line per setting.

A setting changes its class when its line moves to another file. Names stand in blocks under the reason users are told;
`acts` needs none.
"""

from __future__ import annotations

from typing import Final

from penstock.core.base.settings.key import Standing
from penstock.core.base.settings.standings import acts, no_meaning, refused

Blocks = tuple[tuple[str, str], ...]
Standings = dict[str, tuple[Standing, str]]


def _by_name(acting: Blocks, meaningless: Blocks, refusing: Blocks) -> Standings:
    classes = ((Standing.ACTS, acting), (Standing.NO_MEANING, meaningless), (Standing.REFUSED, refusing))
    found: Standings = {}
    for standing, blocks in classes:
        for why, names in blocks:
            for name in names.split():
                assert name not in found, f"{name} has two standings"
                found[name] = (standing, why)
    return found


BROKER: Final = _by_name(acts.BROKER, no_meaning.BROKER, refused.BROKER)
TOPIC: Final = _by_name(acts.TOPIC, no_meaning.TOPIC, refused.TOPIC)
GROUP: Final = _by_name(acts.GROUP, no_meaning.GROUP, refused.GROUP)
