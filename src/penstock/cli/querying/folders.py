"""A folder of Parquet files, or of a Delta table, as what DuckDB reads: the columns and files that a query needs."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from penstock.cli.talk import Refused


def folder_table(folder: Path) -> Any:
    """A dataset of Arrow. Of a Delta table only what its log has committed."""
    if (folder / "_delta_log").is_dir():
        return _delta(folder)
    import pyarrow as pa
    import pyarrow.dataset as datasets

    if not any(folder.rglob("*.parquet")):
        raise Refused(f"{folder} holds no table", "--table NAME=DIR names a folder of Parquet files or a Delta table")
    try:
        return datasets.dataset(folder, format="parquet", partitioning="hive")
    except (OSError, pa.ArrowInvalid) as failure:
        raise Refused(f"{folder} cannot be read: {str(failure).splitlines()[0]}") from None


def _delta(folder: Path) -> Any:
    if importlib.util.find_spec("deltalake") is None:
        raise Refused("Delta tables are read by deltalake, which is not installed", "pip install 'penstock[lake]'")
    from deltalake import DeltaTable

    return DeltaTable(str(folder)).to_pyarrow_dataset()
