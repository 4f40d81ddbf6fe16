"""Small shell programs that stand in front of a real one and change what it is told."""

from __future__ import annotations

import os
from pathlib import Path


def write_wrapper(path: Path, text: str) -> Path:
    """The program at this path, which appears whole or not at all; one that is there already stays."""
    if not path.is_file() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.replace(path)
    return path
