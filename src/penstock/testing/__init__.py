"""Real nodes for tests: `Broker`, one node that clients connect to; `SimCluster`, several in a simulated world with
faults and virtual time; and a pytest plugin with both.

Nothing is imported before it is asked for: every run of pytest loads the plugin, also the runs that need no node.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from penstock import WHERE_IT_RUNS

if TYPE_CHECKING:
    from penstock.testing.broker import Broker, BrokerFailed
    from penstock.testing.simclient import Record, Refused, SimClient, Uncertain
    from penstock.testing.simulated import Job, SimCluster

__all__ = ["Broker", "BrokerFailed", "Job", "Record", "Refused", "SimClient", "SimCluster", "Uncertain"]

_MODULES = {
    "broker": ("Broker", "BrokerFailed"),
    "simclient": ("Record", "Refused", "SimClient", "Uncertain"),
    "simulated": ("Job", "SimCluster"),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            if sys.platform == "win32":
                raise ImportError(WHERE_IT_RUNS)
            return getattr(import_module(f"penstock.testing.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
