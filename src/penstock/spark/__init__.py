"""Topics are DataFrames: the data source `format("penstock")`, sessions, and declared pipelines.

Importing this costs nothing: Spark is loaded when a session is asked for.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.spark.session import session

__all__ = ["session"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from penstock.spark.session import session

    # The module of the same name has just taken this place in the package; the function is what people mean.
    globals()["session"] = session
    return session
