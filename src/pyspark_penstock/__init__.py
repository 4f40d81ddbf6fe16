"""Found by Spark under this name: `format("penstock")` loads `DefaultSource` from here."""

import re
from collections.abc import MutableMapping

import pyspark
from pyspark.sql.datasource import DataSource

NEEDED = (4, 2)
_FOUND = tuple(int(part) for part in re.findall(r"\d+", pyspark.__version__)[:2])

DefaultSource: type[DataSource]

if _FOUND >= NEEDED:
    from penstock.spark.source.datasource import PenstockSource

    DefaultSource = PenstockSource
else:

    class TooOld(DataSource):
        """Stands in where Spark cannot hand a source its limits yet. Says so when it is used, not when it is found."""

        def __init__(self, options: MutableMapping[str, str]) -> None:
            raise RuntimeError(
                f'format("penstock") needs pyspark 4.2 or newer and found {pyspark.__version__}; '
                'format("kafka") works with every version'
            )

        @classmethod
        def name(cls) -> str:
            return "penstock"

    DefaultSource = TooOld
