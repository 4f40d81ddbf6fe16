"""The notebook runs from top to bottom where it lies, and is kept with the outputs of one such run."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.environment import ROOT

NOTEBOOK = ROOT / "examples" / "orders" / "orders.ipynb"


def code_cells(notebook: Path = NOTEBOOK) -> list[dict[str, Any]]:
    cells = json.loads(notebook.read_text())["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def test_the_outputs_of_one_run_are_kept() -> None:
    """Whoever looks at it without running it sees what it shows, and nothing of the machine that ran it."""
    cells = code_cells()
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    shows = [cell for cell in cells if cell["outputs"]]
    assert shows == cells[1:-1], "the first cell only finds the project, and the last one closes the node"
    kinds = {output["output_type"]: output.get("name") for cell in shows for output in cell["outputs"]}
    assert kinds == {"execute_result": None, "stream": "stdout"}
    kept = json.dumps([cell["outputs"] for cell in shows])
    assert not [word for word in ("site-packages", "/home/", "/work/", "/tmp/") if word in kept]


def test_it_finds_the_project_from_where_it_lies() -> None:
    """The first cell, in a process that has never heard of the project's folder, but of what is installed."""
    first = "".join(code_cells()[0]["source"])
    program = f"import sys; sys.path.remove(''); assert {str(ROOT)!r} not in sys.path\n{first}\nimport examples.orders"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=NOTEBOOK.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


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
