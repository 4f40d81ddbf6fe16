"""Where asyncio's clients wait for what can only be waited for in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class InThread:
    """Calls of one client, one after the other, in a thread of its own: they keep their order."""

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(1, name)

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, partial(function, *args, **kwargs))

    def close(self) -> None:
        self._executor.shutdown(wait=False)
