"""Who imports whom in a circle. An import for the types alone counts: who needs the other's name needs the other.

The packages of `core/node` stand in an order, as the layers do, and say in a port of their own (`ports.py`) what they
need of the node, instead of importing it. Elsewhere in the core no modules and no packages may form a circle. What does
so today is a debt in `ratchet.toml`, which may only shrink.
"""

from collections.abc import Iterable, Mapping, Set
from functools import cache
from pathlib import Path

from tests.tidy.imports import imports_of
from tests.tidy.tree import PACKAGE, module_of, python_files

NODE = "penstock.core.node."

# Bottom to top; those on one line are siblings and never import each other.
HOUSES: tuple[tuple[str, ...], ...] = (
    ("deadlines", "folding", "group_overrides"),
    ("host",),
    ("links", "controller", "observing"),
    ("serving",),
    ("coordination", "quorum"),
    ("membership",),
    ("replication",),
    ("storage",),
    ("fetching", "schemas"),
    ("sharing",),
    ("housekeeping", "scrub"),
    ("node",),
    ("lifecycle", "health_check", "group_lag"),
)
HOUSE_LEVEL = {house: level for level, houses in enumerate(HOUSES) for house in houses}

Graph = Mapping[str, Set[str]]


@cache
def core_imports() -> dict[str, set[str]]:
    """Which modules each module of the core imports, as far as they are ours."""
    sources = {module_of(path): path.read_text() for path in python_files(PACKAGE)}
    core = (module for module in sources if module.startswith("penstock.core."))
    return {module: imported(module, sources[module], sources) for module in core}


def imported(module: str, source: str, known: Iterable[str]) -> set[str]:
    targets = set()
    for found in imports_of(source):
        # `from penstock.core import log` names the module in its second half.
        named = f"{found.module}.{found.name}"
        targets.add(named if named in known else found.module)
    return {target for target in targets if target in known and target != module}


def house_of(module: str) -> str | None:
    """`penstock.core.node.serving.slots` lives in `serving`."""
    return module.removeprefix(NODE).split(".")[0] if module.startswith(NODE) else None


def house_complaints(graph: Graph) -> dict[str, str]:
    """Imports that point upwards or to a sibling, by what the ratchet calls them."""
    complaints = {}
    for module, targets in graph.items():
        importer = house_of(module)
        if importer is None:
            continue
        if importer not in HOUSE_LEVEL:
            complaints[module] = f"{module}: `{importer}` has no place in the order of houses"
            continue
        for house in {house_of(target) for target in targets} - {None, importer}:
            if HOUSE_LEVEL.get(house or "", len(HOUSES)) >= HOUSE_LEVEL[importer]:
                complaints[f"{module} -> {house}"] = f"{module}: `{importer}` must not import `{house}`"
    return complaints


def packages(graph: Graph, folders: Set[str]) -> dict[str, set[str]]:
    """The same graph between packages; a package's `__init__` is part of it. The modules that stand beside the packages
    of the node are houses of their own."""

    def package(module: str) -> str:
        folder = module if module in folders else module.rpartition(".")[0]
        return module if f"{folder}." == NODE else folder

    found: dict[str, set[str]] = {}
    for module, targets in graph.items():
        found.setdefault(package(module), set()).update(map(package, targets))
    return {name: targets - {name} for name, targets in found.items()}


def package_names(paths: Iterable[Path]) -> set[str]:
    return {module_of(path) for path in paths if path.name == "__init__.py"}


def in_circles(graph: Graph) -> set[str]:
    """Everything from which one comes back to it."""
    return {name for name in graph if name in _reached(graph, name)}


def _reached(graph: Graph, start: str) -> set[str]:
    seen: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(graph.get(name, ()))
    return seen


def ratchet_complaints(found: Set[str], recorded: Set[str]) -> list[str]:
    """What is new is a fault; what is gone must leave the ratchet."""
    news = [f"{name} is in a circle, or imports against the order" for name in sorted(found - recorded)]
    return news + [f"{name} is paid; remove it from the ratchet" for name in sorted(recorded - found)]
