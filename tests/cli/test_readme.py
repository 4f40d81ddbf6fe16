"""What README's first screen says to paste does what it says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import TIMEOUT_S
from tests.ports import free_base_port

README = Path(__file__).resolve().parent.parent.parent / "README.md"


@pytest.mark.slow
def test_the_block_to_paste(tmp_path: Path) -> None:
    block = re.search(r"(?m)^    penstock up --detach.*\n(?:    .+\n)+", README.read_text())
    assert block is not None
    port = free_base_port()
    lines = block[0].replace("penstock up", f"penstock up --port {port}")
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PENSTOCK_BOOTSTRAP": f"127.0.0.1:{port}",
    }
    pasted = subprocess.run(
        ["sh", "-e"],
        input=lines,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert pasted.returncode == 0, pasted.stderr
    ready, read = pasted.stdout.splitlines()
    assert ready == f"ready 127.0.0.1:{port}"
    assert (json.loads(read)["key"], json.loads(read)["value"]) == ("k1", "hello")
    assert pasted.stderr.splitlines()[-1] == "stopped"
    assert [each.name for each in tmp_path.iterdir()] == ["penstock-data"]
