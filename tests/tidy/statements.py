"""The statements of a module without their expressions, of which there are many times more."""

import ast
from collections.abc import Iterator

BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")


def inner_statements(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in the blocks of one statement; a handler and a case have blocks of their own."""
    for block in BLOCKS:
        yield from getattr(node, block, ())


def statements(node: ast.AST) -> Iterator[ast.AST]:
    for inner in inner_statements(node):
        yield inner
        yield from statements(inner)
