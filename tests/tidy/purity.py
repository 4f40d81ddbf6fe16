"""What the core must not touch: the clock, dice, sockets, threads, files, and anything that waits.

A module that may be used in part has the names that are pure; `import` of the whole of it is refused, because then
the impure ones are a dot away.
"""

import ast
from collections.abc import Iterator

from tests.tidy.imports import Import, imports_of

NOTHING: frozenset[str] = frozenset()

BANNED_MODULES: dict[str, frozenset[str]] = {
    **dict.fromkeys(("time", "sched", "signal"), NOTHING),
    **dict.fromkeys(("random", "secrets"), NOTHING),
    **dict.fromkeys(("socket", "socketserver", "ssl", "select", "selectors", "http", "urllib"), NOTHING),
    **dict.fromkeys(("asyncio", "threading", "_thread", "queue", "contextvars"), NOTHING),
    **dict.fromkeys(("multiprocessing", "concurrent", "subprocess"), NOTHING),
    **dict.fromkeys(("os", "shutil", "tempfile", "glob", "mmap", "fcntl", "resource", "ctypes"), NOTHING),
    "pathlib": frozenset({"PurePath", "PurePosixPath"}),
    "uuid": frozenset({"UUID"}),
}
BANNED_CALLS = frozenset({"open", "input", "print"})
BANNED_METHODS_OF = {"datetime": frozenset({"now", "utcnow", "today"}), "date": frozenset({"today"})}

# The simulator rolls its own dice, from a seed.
SIMULATOR_MODULES = {**BANNED_MODULES, "random": frozenset({"Random"})}


def purity_complaints(module: str, source: str, banned: dict[str, frozenset[str]] | None = None) -> list[str]:
    table = BANNED_MODULES if banned is None else banned
    complaints = [
        f"{module}:{found.line}: {found.module} may not be used here"
        for found in imports_of(source)
        if not _is_pure(found, table)
    ]
    library = _without_main_block(ast.parse(source))
    return complaints + [f"{module}:{line}: {what}" for line, what in _impure_syntax(library)]


def _is_pure(found: Import, banned: dict[str, frozenset[str]]) -> bool:
    top = found.module.split(".")[0]
    return top not in banned or found.name in banned[top]


def _without_main_block(tree: ast.Module) -> ast.Module:
    """What runs only as a program is not a part of the core: it may print."""
    tree.body = [
        statement
        for statement in tree.body
        if not (isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test))
    ]
    return tree


def _impure_syntax(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.AsyncFunctionDef() | ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                yield node.lineno, "nothing here is async"
            case ast.Call(func=ast.Name(id=name)) if name in BANNED_CALLS:
                yield node.lineno, f"{name}() belongs to the shell"
            case ast.Call(func=ast.Attribute(value=owner, attr=name)) if _reads_world(owner, name):
                yield node.lineno, f"{name}() reads the world; its value must be handed in"


def _reads_world(owner: ast.expr, name: str) -> bool:
    """Sees `datetime.now()` as well as `datetime.datetime.now()`."""
    last = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
    return last in BANNED_METHODS_OF and name in BANNED_METHODS_OF[last]
