"""Names that nobody uses: defined in `src`, and read nowhere in the project, tests included.

A name counts as used wherever the same name is read, whoever defines it, and where a short text names it (a table of
attributes, `__all__`). So what this finds is dead, and not all that is dead is found.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

# A decorator without arguments that only changes how a thing is called; any other one may hand it to somebody.
PLAIN_DECORATORS = frozenset({"property", "classmethod", "staticmethod", "cache", "frozen", "final", "override"})
SHAPES = frozenset({"Any", "Exception", "Generic", "NamedTuple", "Protocol", "TypedDict"})
TEXT_LENGTH_MAX = 300
FRAGMENT_LENGTH_MIN = 5
TEMPLATED = re.compile(r"\{[{%](.*?)[%}]\}", re.DOTALL)
WORD = re.compile(r"[A-Za-z_]\w*")

# The declarations of Kafka's messages are facts, and all of them are there.
DECLARATIONS = ("penstock.core.wire.api.", "penstock.core.wire.stored.")


class Defined(NamedTuple):
    """A name and where it is defined: its module, and the classes around it."""

    module: str
    classes: tuple[str, ...]
    name: str

    def __str__(self) -> str:
        return ".".join((self.module, *self.classes, self.name))


class Names:
    """What a project defines, reads and inherits from; each source is looked at once."""

    def __init__(self) -> None:
        self.defined: list[Defined] = []
        self._read: set[str] = set()
        self._fragments: set[str] = set()
        self._bases: dict[str, set[str]] = {}

    def add(self, source: str, module: str | None = None) -> None:
        """A source that is read, and, where its module is given, in which every name needs a reader."""
        tree = ast.parse(source)
        if module is not None and not module.startswith(DECLARATIONS):
            self.defined += _in_body(tree.body, module, ())
        nodes = list(ast.walk(tree))
        passed_over = {id(text) for node in nodes for text in _slots_of(node)}
        for node in nodes:
            match node:
                case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()):
                    self._read.add(name)
                case ast.ClassDef(name=name, bases=bases):
                    self._bases.setdefault(name, set()).update(map(_base_name, bases))
                case ast.MatchClass(kwd_attrs=names):
                    self._read.update(names)
                case ast.keyword(arg=str(name)):
                    self._read.add(name)
                case ast.JoinedStr(values=parts):
                    self._fragments.update(_fragments(parts))
                case ast.Constant(value=str(text)) if len(text) < TEXT_LENGTH_MAX and id(node) not in passed_over:
                    self._read.update(WORD.findall(text))

    def add_template(self, text: str) -> None:
        """What a page shows is read."""
        for expression in TEMPLATED.findall(text):
            self._read.update(WORD.findall(expression))

    def dead(self) -> list[str]:
        own = self._own_classes()
        return sorted(
            {
                str(each)
                for each in self.defined
                if not each.name.startswith("__") and own.issuperset(each.classes) and not self._is_read(each.name)
            }
        )

    def _is_read(self, name: str) -> bool:
        return name in self._read or any(name.startswith(each) or name.endswith(each) for each in self._fragments)

    def _own_classes(self) -> set[str]:
        """Those that nobody else's code calls: all that they inherit from is defined here."""
        own = set(self._bases)
        while strangers := {name for name in own if not self._bases[name] <= own | SHAPES}:
            own -= strangers
        return own


def _slots_of(node: ast.AST) -> Iterator[ast.AST]:
    """The texts in `__slots__` name every attribute, used or not."""
    if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == "__slots__" for to in node.targets):
        yield from ast.walk(node.value)


def _fragments(parts: Iterable[ast.expr]) -> Iterator[str]:
    """Of a text that is put together, what a name could begin or end with: `f"_{kind}_column"`."""
    for part in parts:
        if isinstance(part, ast.Constant) and len(part.value) >= FRAGMENT_LENGTH_MIN and part.value.isidentifier():
            yield part.value


def _base_name(base: ast.expr) -> str:
    """`Name[T]` is `Name`; what belongs to a module is somebody else's."""
    while isinstance(base, ast.Subscript):
        base = base.value
    return ast.unparse(base)


def _in_body(body: Iterable[ast.stmt], module: str, classes: tuple[str, ...]) -> Iterator[Defined]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if not _is_handed_on(node):
                yield Defined(module, classes, node.name)
            yield from (Defined(module, classes, name) for name in _own_attributes(node))
        elif isinstance(node, ast.ClassDef):
            if not _is_handed_on(node):
                yield Defined(module, classes, node.name)
            yield from _in_body(node.body, module, (*classes, node.name))
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (Defined(module, classes, target.id) for target in targets if isinstance(target, ast.Name))


def _own_attributes(function: ast.AST) -> Iterator[str]:
    for node in ast.walk(function):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name


def _is_handed_on(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether a decorator may have told somebody of it: a command, a fixture, a setter."""
    return any(ast.unparse(each) not in PLAIN_DECORATORS for each in node.decorator_list)
