"""No circles in the core, and an order among the packages of the node."""

import tomllib

from tests.tidy.circles import (
    core_imports,
    house_complaints,
    imported,
    in_circles,
    package_names,
    packages,
    ratchet_complaints,
)
from tests.tidy.sizes import RATCHET
from tests.tidy.tree import PACKAGE, python_files, report


def recorded(name: str) -> set[str]:
    return {f"penstock.{each}" for each in tomllib.loads(RATCHET.read_text())["circles"][name]}


def test_the_houses_of_the_node_keep_their_order() -> None:
    found = house_complaints(core_imports())
    complaints = ratchet_complaints(found.keys(), recorded("houses"))
    assert not complaints, report(complaints)


def test_no_modules_form_a_circle() -> None:
    complaints = ratchet_complaints(in_circles(core_imports()), recorded("modules"))
    assert not complaints, report(complaints)


def test_no_packages_form_a_circle() -> None:
    found = in_circles(packages(core_imports(), package_names(python_files(PACKAGE))))
    complaints = ratchet_complaints(found, recorded("packages"))
    assert not complaints, report(complaints)


def test_an_import_against_the_order_is_seen() -> None:
    serving, node = "penstock.core.node.serving.slots", "penstock.core.node.node"
    assert house_complaints({node: {serving}}) == {}
    assert list(house_complaints({serving: {node}})) == [f"{serving} -> node"]
    coordination, quorum = "penstock.core.node.coordination.groups", "penstock.core.node.quorum.quorum"
    assert list(house_complaints({coordination: {quorum}})) == [f"{coordination} -> quorum"]
    assert list(house_complaints({"penstock.core.node.surprise.module": set()})) == [
        "penstock.core.node.surprise.module"
    ]
    assert house_complaints({"penstock.core.apis.fetch": {node}}) == {}


def test_a_circle_for_the_types_alone_is_seen() -> None:
    known = {"penstock.core.a", "penstock.core.b", "penstock.core.c"}
    quiet = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from penstock.core.a import A"
    graph = {
        "penstock.core.a": imported("penstock.core.a", "from penstock.core import b", known),
        "penstock.core.b": imported("penstock.core.b", quiet, known),
        "penstock.core.c": imported("penstock.core.c", "import penstock.core.a", known),
    }
    assert in_circles(graph) == {"penstock.core.a", "penstock.core.b"}


def test_packages_are_in_a_circle_though_their_modules_are_not() -> None:
    graph = {"p.a.one": {"p.b.one"}, "p.b.one": set(), "p.b": {"p.a.two"}, "p.a.two": set()}
    assert in_circles(graph) == set()
    assert in_circles(packages(graph, {"p", "p.a", "p.b"})) == {"p.a", "p.b"}


def test_the_ratchet_names_what_is_there_and_nothing_else() -> None:
    assert ratchet_complaints({"a"}, {"a"}) == []
    assert ratchet_complaints({"a"}, set()) == ["a is in a circle, or imports against the order"]
    assert ratchet_complaints(set(), {"a"}) == ["a is paid; remove it from the ratchet"]


def test_a_package_of_the_node_may_use_what_stands_beside_it() -> None:
    graph = {
        "penstock.core.node.host": set[str](),
        "penstock.core.node.links.link": {"penstock.core.node.host"},
        "penstock.core.node.node": {"penstock.core.node.links.link"},
    }
    folders = {"penstock.core.node", "penstock.core.node.links"}
    assert in_circles(packages(graph, folders)) == set()
    graph["penstock.core.node.host"] = {"penstock.core.node.links.link"}
    assert in_circles(packages(graph, folders)) == {"penstock.core.node.host", "penstock.core.node.links"}
