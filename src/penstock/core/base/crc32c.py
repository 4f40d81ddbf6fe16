"""CRC-32C, from the compiled part of its package alone.

The package around that part loads a good piece of the standard library (e-mail, archives, command lines) in order to
know its own version: more than sixty modules, which would be a sixth of what a node imports before it can serve.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

from penstock.core.base.ports import Buffer


def _compiled() -> Callable[[Buffer], int] | None:
    """The function in the extension module, or None if the package is laid out otherwise than we know it."""
    package = PathFinder.find_spec("crc32c")
    if package is None or package.submodule_search_locations is None:
        return None
    spec = PathFinder.find_spec("_crc32c", list(package.submodule_search_locations))
    if spec is None or spec.loader is None:
        return None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Callable[[Buffer], int] | None = getattr(module, "crc32c", None)
    return function


def _packaged() -> Callable[[Buffer], int]:
    from crc32c import crc32c

    return crc32c


crc32c: Callable[[Buffer], int] = _compiled() or _packaged()
