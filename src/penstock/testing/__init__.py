"""A real node for tests: `Broker`, and a pytest plugin with a node per session and a topic per test.

Nothing is imported before it is asked for: every run of pytest loads the plugin, also the runs that need no node.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.testing.broker import Broker, BrokerFailed

__all__ = ["Broker", "BrokerFailed"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from penstock.testing import broker

    return getattr(broker, name)
