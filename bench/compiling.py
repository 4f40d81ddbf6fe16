"""The bench's C programs, compiled on first use."""

import hashlib
import platform
import shutil
import subprocess
from functools import cache
from pathlib import Path

CACHE = Path(__file__).resolve().parent.parent / ".cache" / "bench"
FLAGS = ("-O2", "-Wall", "-Wextra", "-Werror", "-std=gnu11")
# Checksums in hardware, where the compiler must be told that the processor has them.
PROCESSOR_FLAGS = {"x86_64": ("-msse4.2",)}


@cache
def compiled(source: Path) -> Path:
    """Named by the source's contents, so that a change is compiled and an old binary never mistaken for the new."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise RuntimeError(f"a C compiler (`cc`) is needed for {source.name}")
    target = CACHE / f"{source.stem}-{hashlib.sha256(source.read_bytes()).hexdigest()[:16]}"
    if not target.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        flags = (*FLAGS, *PROCESSOR_FLAGS.get(platform.machine(), ()))
        subprocess.run([compiler, *flags, "-o", str(target), str(source)], check=True)
    return target
