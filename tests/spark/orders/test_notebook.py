"""The notebook runs from top to bottom, and is kept without the output of anybody's last run."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.environment import ROOT

NOTEBOOK = ROOT / "examples" / "orders" / "orders.ipynb"


def code_cells(notebook: Path = NOTEBOOK) -> list[dict[str, Any]]:
    cells = json.loads(notebook.read_text())["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def test_no_output_is_kept() -> None:
    assert [cell for cell in code_cells() if cell["outputs"] or cell["execution_count"]] == []


@pytest.mark.spark
def test_every_cell_runs(spark: SparkSession) -> None:
    # The notebook asks for a session and gets the one that runs.
    namespace: dict[str, Any] = {}
    try:
        for number, cell in enumerate(code_cells()):
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), namespace)
    finally:
        namespace["broker"].close()
    assert namespace["traffic"].placed > 0
