"""The core neither waits nor looks at the world, and the simulator looks only at its seed."""

import pytest

from tests.tidy.purity import SIMULATOR_MODULES, purity_complaints
from tests.tidy.tree import PACKAGE, module_of, python_files, report


def test_the_core_and_the_schemas_are_pure() -> None:
    complaints = [
        complaint
        for path in (*python_files(PACKAGE / "core"), *python_files(PACKAGE / "schemas"))
        for complaint in purity_complaints(module_of(path), path.read_text())
    ]
    assert not complaints, report(complaints)


def test_the_simulator_depends_on_its_seed_alone() -> None:
    paths = [path for path in python_files(PACKAGE / "sim") if path.name != "__main__.py"]
    complaints = [
        complaint
        for path in paths
        for complaint in purity_complaints(module_of(path), path.read_text(), SIMULATOR_MODULES)
        if "print()" not in complaint
    ]
    assert not complaints, report(complaints)


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "from time import monotonic",
        "import os.path",
        "from concurrent.futures import ThreadPoolExecutor",
        "from pathlib import Path",
        "import uuid",
        "from uuid import uuid4",
        "async def handle(): ...",
        "data = open('x')",
        "if verbose:\n    print('x')",
        "import datetime\nstamp = datetime.datetime.now(datetime.UTC)",
        "from datetime import datetime\nstamp = datetime.now()",
        "def late():\n    import random",
    ],
)
def test_an_impurity_is_seen(source: str) -> None:
    assert purity_complaints("penstock.core.x", source)


@pytest.mark.parametrize(
    "source",
    [
        "import struct",
        "from uuid import UUID",
        "from pathlib import PurePosixPath",
        "self.files.open(path)",
        "if __name__ == '__main__':\n    print(table())",
    ],
)
def test_pure_things_pass(source: str) -> None:
    assert purity_complaints("penstock.core.x", source) == []


def test_the_simulator_may_roll_seeded_dice_only() -> None:
    assert purity_complaints("penstock.sim.x", "from random import Random", SIMULATOR_MODULES) == []
    assert purity_complaints("penstock.sim.x", "from random import randint", SIMULATOR_MODULES)
