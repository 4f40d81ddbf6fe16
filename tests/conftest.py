"""Settings for every test: how many examples, from which seeds, and where tools may leave their files."""

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.database import DirectoryBasedExampleDatabase

from tests.fresh_seeds import FIRST, IS_SOAK
from tests.runs.files import Files
from tests.runs.messages import tell_less
from tests.runs.watch import Watch

ROOT = Path(__file__).resolve().parent.parent
HYPOTHESIS_HOME = ROOT / ".cache" / "hypothesis"
EXAMPLES_DEFAULT = 100
EXAMPLES_QUICK = 20
SOAK_FACTOR = 20
GARBAGE_ALLOCATIONS = 20_000

set_hypothesis_home_dir(HYPOTHESIS_HOME)

# A shell starts what runs in the background deaf to Ctrl-C, and every program that a test starts would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A deadline per example would measure the machine's other work, not ours.
settings.register_profile("ci", derandomize=True, max_examples=EXAMPLES_DEFAULT, deadline=None)
settings.register_profile("quick", settings.get_profile("ci"), max_examples=EXAMPLES_QUICK)
settings.register_profile(
    "soak",
    max_examples=EXAMPLES_DEFAULT * SOAK_FACTOR,
    deadline=None,
    database=DirectoryBasedExampleDatabase(HYPOTHESIS_HOME / "examples"),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("soak" if IS_SOAK else "quick" if os.environ.get("PENSTOCK_QUICK") == "1" else "ci")


@pytest.hookimpl(trylast=True)  # When a worker of xdist has begun to listen.
def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Watch())
    config.pluginmanager.register(Files(config))
    tell_less(config)


def pytest_report_header() -> list[str]:
    return [f"fresh seeds begin at {FIRST}"] if IS_SOAK else []


@pytest.hookimpl(trylast=True)  # When fixtures have let go, too.
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """At the end of a file nobody needs what its tests made: whole simulated worlds, and clients that would go on
    looking for a broker that is gone. They are full of cycles, and the collector would take its time. What is left is
    not walked again."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


def pytest_collection_finish() -> None:
    """What was found stays until the end: never walk it again in search of garbage, and look less often, as a node
    does."""
    gc.freeze()
    gc.set_threshold(GARBAGE_ALLOCATIONS)
