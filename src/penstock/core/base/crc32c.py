"""CRC-32C, from the compiled part of its package alone.

The package around that part loads a good piece of the standard library (e-mail, archives, command lines) in order to
know its own version: more than sixty modules, which would be a sixth of what a node imports before it can serve.
"""

from __future__ import annotations

from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import Protocol

from penstock.core.base.ports import Buffer


class Checksum(Protocol):
    """Of some bytes, or of all until now when the checksum of what stood before them is given."""

    def __call__(self, data: Buffer, value: int = 0, /) -> int: ...


def _compiled() -> Checksum | None:
    """The function in the extension module, or None if the package is laid out otherwise than we know it."""
    package = PathFinder.find_spec("crc32c")
    if package is None or package.submodule_search_locations is None:
        return None
    spec = PathFinder.find_spec("_crc32c", list(package.submodule_search_locations))
    if spec is None or spec.loader is None:
        return None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Checksum | None = getattr(module, "crc32c", None)
    return function


def _packaged() -> Checksum:
    from crc32c import crc32c

    return crc32c


crc32c: Checksum = _compiled() or _packaged()
