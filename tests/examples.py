"""How many examples a property gets when the profile's count does not suit it.

`@settings(max_examples=...)` would fix the count for `make soak` and `make test-quick` too; `@examples(n)` scales with
them.
"""

from collections.abc import Callable
from typing import Any

from hypothesis import settings

from tests.conftest import EXAMPLES_DEFAULT


def examples(count: int) -> Callable[[Any], Any]:
    return settings(max_examples=scaled(count))


def scaled(count: int) -> int:
    """`count` in `make test`; more in `make soak` and fewer in `make test-quick`, as many times as the profile says."""
    return max(1, count * settings().max_examples // EXAMPLES_DEFAULT)
