"""Nothing in `src` is there for nobody."""

import tomllib

import pytest

from tests.tidy.dead import Names
from tests.tidy.sizes import RATCHET
from tests.tidy.tree import PACKAGE, module_of, project_files, python_files, report


def test_every_name_is_read_by_somebody() -> None:
    names = Names()
    for path in python_files():
        names.add(path.read_text(), module_of(path) if path.is_relative_to(PACKAGE) else None)
    for path in project_files():
        if path.suffix == ".html" and path.is_relative_to(PACKAGE):
            names.add_template(path.read_text())
    building = tuple(f"penstock.{each}." for each in tomllib.loads(RATCHET.read_text())["dead"]["building"])
    complaints = [f"{name} is read nowhere" for name in names.dead() if not name.startswith(building)]
    assert not complaints, report(complaints)


def dead(source: str, *others: str) -> list[str]:
    names = Names()
    names.add(source, "m")
    for other in others:
        names.add(other)
    return names.dead()


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("def f(): ...", "m.f"),
        ("class A: ...", "m.A"),
        ("LIMIT = 3", "m.LIMIT"),
        ("class A:\n    x: int = 0\nA()", "m.A.x"),
        ("class A:\n    def f(self): self.x = 1\nA().f()", "m.A.x"),
        ("class A:\n    __slots__ = ('x',)\n    def f(self): self.x = 1\nA().f()", "m.A.x"),
        ("class A:\n    @property\n    def x(self): ...\nA()", "m.A.x"),
        ("class A: ...\nclass B(A):\n    def f(self): ...\nB()", "m.B.f"),
    ],
)
def test_what_nobody_reads_is_seen(source: str, name: str) -> None:
    assert name in dead(source)


@pytest.mark.parametrize(
    "source",
    [
        "def f(): ...\nf()",
        "x = 1\n__all__ = ['x']",
        "import typer\napp = typer.Typer()\n@app.command()\ndef f(): ...",
        "import asyncio\nclass A(asyncio.Protocol):\n    def data_received(self): ...\nA()",
        "import foreign\nclass A(foreign.Base): ...\nclass B(A):\n    def hook(self): ...\nB()",
        "class A:\n    def __enter__(self): ...\nA()",
        "class A:\n    def _key_column(self): ...\ngetattr(A(), f'_{kind}_column')",
        "class A:\n    __match_args__ = ()\n    x = 1\nmatch y:\n    case A(x=1): ...",
    ],
)
def test_what_somebody_may_call_passes(source: str) -> None:
    assert dead(source) == []


def test_a_template_counts_as_a_reader_but_not_its_words() -> None:
    names = Names()
    names.add("def shown(): ...\ndef told(): ...", "m")
    names.add_template("<p>told</p>{{ each.shown }}")
    assert names.dead() == ["m.told"]


def test_a_test_counts_as_a_reader() -> None:
    assert dead("def f(): ...", "from m import f\nf()") == []
