"""More connections than anybody needs, which say nothing."""

from __future__ import annotations

import resource
from contextlib import ExitStack

from tests.robustness.hostile.target import Case, Target

CROWD_MAX = 4_000


def crowd(target: Target) -> None:
    """As many as this process may have, but for some."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        with ExitStack() as stack:
            for _ in range(min(CROWD_MAX, hard // 2)):
                stack.enter_context(target.connect())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


LONG_CASES: dict[str, Case] = {"crowd": crowd}
