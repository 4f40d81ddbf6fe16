"""Frames that no good client sends, a few hundred of them."""

from __future__ import annotations

from tests.robustness.hostile.target import Case, Target
from tests.robustness.malformed import Malformed

FRAMES = 200


def noise(target: Target) -> None:
    malformed = Malformed("hostile")
    for _ in range(FRAMES):
        with target.connect() as peer:
            peer.send(malformed.next())


CASES: dict[str, Case] = {"noise": noise}
