"""Which Python Spark's workers on this machine run: the driver's own, importing Spark from where it is installed.

Spark puts an archive of its Python modules in front of all else on the path of every worker, and Python keeps no
compiled form of what comes out of an archive: each new process compiles Spark anew, 0.6 s of processor time. The same
modules are installed beside the archive, compiled already.
"""

from __future__ import annotations

import importlib.util
import shlex
import sys
from pathlib import Path
from typing import Final

from penstock.spark.wrappers import write_wrapper

_WRAPPER: Final = """#!/bin/sh
set -f
IFS=:
kept=
for entry in $PYTHONPATH; do
  case $entry in
    {archives}/*.zip) ;;
    *) kept=$kept:$entry ;;
  esac
done
PYTHONPATH=${{kept#:}} exec {python} "$@"
"""


def worker_python(house: Path, spark_home: Path) -> str:
    """The interpreter to name to Spark; `house` is where a wrapper may be written."""
    if not _is_installed(spark_home):
        return sys.executable
    archives, python = shlex.quote(str(spark_home / "python" / "lib")), shlex.quote(sys.executable)
    try:
        return str(write_wrapper(house / "python", _WRAPPER.format(archives=archives, python=python)))
    except OSError:
        # An environment that cannot be written to works as well, only slower.
        return sys.executable


def _is_installed(spark_home: Path) -> bool:
    """Whether this Spark's modules are a package that this interpreter finds by itself."""
    found = importlib.util.find_spec("pyspark")
    return found is not None and found.origin == str(spark_home / "__init__.py")
