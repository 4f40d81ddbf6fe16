"""Topics are DataFrames: the data source `format("penstock")`, sessions, and declared pipelines.

Importing this costs nothing: Spark is loaded when a session is asked for.
"""

import sys

from penstock import WHERE_IT_RUNS

if sys.platform == "win32":
    raise ImportError(WHERE_IT_RUNS)

# Imported here and at once, so that the function holds the name, whoever imports the module of the same name later.
from penstock.spark.session import session
from penstock.spark.typed.declaration import Registry
from penstock.spark.typed.encoding import encode
from penstock.spark.typed.frames import decode

__all__ = ["Registry", "decode", "encode", "session"]
