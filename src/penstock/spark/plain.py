"""What a Spark session that is not ours lacks to use `format("penstock")` as it uses its own Kafka source.

Both are decided in the driver's process before the source is asked anything, so they cannot be done by the source.
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
from collections.abc import MutableMapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

SOURCE: Final = "penstock"
DEFAULT_MODE: Final = "ErrorIfExists"
PATCHED: Final = "appends_to_topics"
DRIVER_PYTHON: Final = "PYSPARK_DRIVER_PYTHON"


def prepare(readwriter: ModuleType) -> None:
    """Called once Spark's module of readers and writers is loaded, and before Java is started."""
    name_interpreter(os.environ)
    append_by_default(readwriter.DataFrameWriter)


def name_interpreter(environment: MutableMapping[str, str]) -> None:
    """Let Java look for sources with the Python that runs the driver.

    Java takes `python3` from the PATH if nobody names another, and in an environment that is not activated that one
    has never heard of us. Where the two are the same nothing is named, because executors may keep theirs elsewhere.
    """
    if DRIVER_PYTHON in environment or "PYSPARK_PYTHON" in environment:
        return
    found = shutil.which("python3", path=environment.get("PATH", os.defpath))
    if found is None or Path(found).parent != Path(sys.executable).parent:
        environment[DRIVER_PYTHON] = sys.executable


def append_by_default(writer: Any) -> None:
    """A topic can only be appended to, so who names no mode means that, as with Spark's own Kafka sink.

    Spark would refuse its own default before it asks the source.
    """
    save: Any = writer.save
    if getattr(save, PATCHED, False):
        return

    @functools.wraps(save)
    def save_or_append(
        self: Any, path: str | None = None, format: str | None = None, mode: str | None = None, *rest: Any, **more: Any
    ) -> None:
        if format is not None:
            self.format(format)
        if mode is None and _would_be_refused(self._jwrite):
            mode = "append"
        save(self, path, None, mode, *rest, **more)

    setattr(save_or_append, PATCHED, True)
    writer.save = save_or_append


def _would_be_refused(writer: Any) -> bool:
    return str(writer.source()).lower() == SOURCE and writer.curmode().name() == DEFAULT_MODE
