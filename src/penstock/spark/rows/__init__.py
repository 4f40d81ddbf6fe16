"""What runs on the executors: ranges of a partition become Arrow batches, Arrow batches become produced records.

Everything between the two is columnar. A fetched stretch of record batches is decoded by whole columns with numpy and
pyarrow, and a frame that is written is encoded the same way, so no Python object is made per record.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.spark.rows.fetching import DataLost, read_range
    from penstock.spark.rows.settings import ClientSettings
    from penstock.spark.rows.sink import PenstockStreamWriter, PenstockWriter, sink_settings
    from penstock.spark.rows.tasks import ReadTask
    from penstock.spark.rows.writing import SinkSettings

__all__ = [
    "ClientSettings",
    "DataLost",
    "PenstockStreamWriter",
    "PenstockWriter",
    "ReadTask",
    "SinkSettings",
    "read_range",
    "sink_settings",
]

# Settings and tasks are read where neither Spark nor Arrow is needed, so each name is fetched when it is asked for.
_HOMES = {
    "ClientSettings": "settings",
    "DataLost": "fetching",
    "PenstockStreamWriter": "sink",
    "PenstockWriter": "sink",
    "ReadTask": "tasks",
    "SinkSettings": "writing",
    "read_range": "fetching",
    "sink_settings": "sink",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
