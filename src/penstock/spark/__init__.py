"""Topics are DataFrames: the data source `format("penstock")`, sessions, and declared pipelines.

Importing this costs nothing: Spark is loaded when a session is asked for.
"""

# Imported here and at once, so that the function holds the name, whoever imports the module of the same name later.
from penstock.spark.session import session

__all__ = ["session"]
