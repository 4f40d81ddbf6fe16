"""Loaded by every Python process that has this folder on its path: patches the sink once somebody imports it."""

import importlib.abc
import os
import sys

SINK = "penstock.client.exactly_once.performing"


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):  # type: ignore[no-untyped-def]  # As importlib has it.
        if name != SINK:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def patched(module):  # type: ignore[no-untyped-def]  # As importlib has it.
            execute(module)
            from tests.spark.exactly_once.crashing import install

            install()

        spec.loader.exec_module = patched
        return spec


if "PENSTOCK_TEST_CRASH" in os.environ:
    import importlib.util

    sys.meta_path.insert(0, _Finder())
