"""Seeds that nobody has tried. Each run of `make soak` draws where they begin and says so; to repeat one, give it that
number: `PENSTOCK_FIRST_SEED=N make soak`."""

from __future__ import annotations

import os
import random

IS_SOAK = os.environ.get("PENSTOCK_SOAK") == "1"
NAME = "PENSTOCK_FIRST_SEED"
# Fixed seeds are small numbers. Ranges that are drawn are far apart, so two runs hardly ever meet.
DRAWN = range(1_000_000, 1_000_000_000, 10_000)

# In the environment, because the workers of a run must all draw the same; they begin when this was read.
FIRST = int(os.environ.setdefault(NAME, str(random.choice(DRAWN) if IS_SOAK else DRAWN.start)))


def fresh(count: int) -> range:
    return range(FIRST, FIRST + count)
