"""Processes that a node or a test starts for itself: what they find around them."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from functools import cache


def environment() -> dict[str, str]:
    """The child finds what we find. Where bytecode may not be written beside the sources, it is kept elsewhere for as
    long as we live: a child that compiles everything takes four times as long to start."""
    found = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    if sys.dont_write_bytecode:
        found.pop("PYTHONDONTWRITEBYTECODE", None)
        found["PYTHONPYCACHEPREFIX"] = _bytecode_folder()
    return found


@cache
def _bytecode_folder() -> str:
    folder = tempfile.mkdtemp(prefix="penstock-bytecode-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
