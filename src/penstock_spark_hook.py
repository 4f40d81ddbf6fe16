"""Lets plain Spark sessions of this environment use `format("penstock")`, without an import of ours in their program.

`penstock-spark.pth` imports this whenever Python starts here, so it does next to nothing until somebody imports Spark.

PYTEST_DONT_REWRITE: pytest rewrites the modules of its plugins' packages, and would warn in each run of a project that
uses the fixtures, an error where warnings are errors, because this one is loaded before it.
"""

import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

WRITERS = "pyspark.sql.readwriter"


class SparkWatcher(MetaPathFinder):
    """Sees the module with Spark's DataFrameWriter being looked for, and acts once that has been loaded."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != WRITERS:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            _then_prepare(spec.loader)
        return spec


def _then_prepare(loader: Any) -> None:
    load = loader.exec_module

    def load_and_prepare(module: ModuleType) -> None:
        # A loader may serve other modules as well.
        del loader.exec_module
        load(module)
        # Where Penstock cannot run, Spark still can.
        with suppress(ImportError):
            from penstock.spark.plain import prepare

            prepare(module)

    loader.exec_module = load_and_prepare


sys.meta_path.insert(0, SparkWatcher())
