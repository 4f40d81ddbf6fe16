"""How many examples a property gets when the profile's count does not suit it.

`@settings(max_examples=...)` would fix the count for `make soak` too; `@examples(n)` scales with it.
"""

from collections.abc import Callable
from typing import Any

from hypothesis import settings

from tests.conftest import EXAMPLES_DEFAULT


def examples(count: int) -> Callable[[Any], Any]:
    """`count` examples in `make test`, as many times more in `make soak` as the profile says."""
    profile = settings()
    return settings(profile, max_examples=count * profile.max_examples // EXAMPLES_DEFAULT)
