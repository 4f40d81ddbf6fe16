"""Import direction: what holds the core apart from the shell, and the simulator possible."""

import sys

import pytest

from tests.tidy.imports import imports_of
from tests.tidy.layers import direction_complaints, third_party_complaints
from tests.tidy.tree import PACKAGE, module_of, python_files, report

STANDARD_LIBRARY = frozenset(sys.stdlib_module_names)


def test_every_import_points_downwards() -> None:
    complaints = [
        complaint
        for path in python_files(PACKAGE)
        for complaint in direction_complaints(module_of(path), path.read_text())
    ]
    assert not complaints, report(complaints)


def test_other_peoples_packages_stay_where_they_belong() -> None:
    complaints = [
        complaint
        for path in python_files(PACKAGE)
        for complaint in third_party_complaints(module_of(path), path.read_text(), STANDARD_LIBRARY)
    ]
    assert not complaints, report(complaints)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("penstock.core.wire.frames", "from penstock.core.log import segment"),
        ("penstock.core.wire.frames", "from penstock.core import log"),
        ("penstock.core.wire.frames", "import penstock.core.apis.fetch"),
        ("penstock.core.groups.classic", "from penstock.core.partition.leader import Leader"),
        ("penstock.core.node.node", "def f():\n    from penstock.shell import server"),
        ("penstock.sim.world", "from penstock.shell.files import Disk"),
        ("penstock.client.driver", "from penstock.core.node import node"),
        ("penstock.core.surprise.module", "import struct"),
    ],
)
def test_a_wrong_import_is_seen(module: str, source: str) -> None:
    assert len(direction_complaints(module, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("penstock.core.log.segment", "from penstock.core.log.index import Index"),
        ("penstock.core.log.segment", "from penstock.core.base import ports"),
        ("penstock.cli.main", "from penstock import __version__"),
        ("penstock.sim.world", "from penstock.core.node.node import Node"),
    ],
)
def test_a_right_import_passes(module: str, source: str) -> None:
    assert direction_complaints(module, source) == []


@pytest.mark.parametrize(
    "source",
    [
        "class A:\n    def f(self):\n        import uvloop",
        "async def f():\n    async with x:\n        import uvloop",
        "if x:\n    pass\nelse:\n    import uvloop",
        "for x in y:\n    pass\nelse:\n    import uvloop",
        "try:\n    import uvloop\nfinally:\n    pass",
        "try:\n    pass\nexcept ImportError:\n    import uvloop",
        "try:\n    pass\nfinally:\n    import uvloop",
        "match x:\n    case 1:\n        import uvloop",
    ],
)
def test_an_import_is_seen_in_every_kind_of_block(source: str) -> None:
    assert [found.module for found in imports_of(source)] == ["uvloop"]


def test_a_stranger_in_the_core_is_seen() -> None:
    assert third_party_complaints("penstock.core.log.log", "import uvloop", STANDARD_LIBRARY)
    assert not third_party_complaints("penstock.core.log.log", "import cramjam, struct", STANDARD_LIBRARY)
