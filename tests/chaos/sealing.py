"""Clusters that encrypt what they keep: the keys before, and the plain files that the checker reads afterwards."""

from __future__ import annotations

import os
import subprocess
from base64 import b64encode
from pathlib import Path

from tests.chaos.cluster import ChaosCluster

KEYS_FILE = "penstock.encryption.keys.file"


def sealing_settings(folder: Path) -> dict[str, str]:
    """What makes nodes encrypt."""
    path = folder / "keys"
    path.write_text(f"k1 {b64encode(os.urandom(32)).decode()}\n")
    path.chmod(0o600)
    return {KEYS_FILE: str(path)}


def open_sealed(cluster: ChaosCluster) -> None:
    """Write what stopped nodes have sealed without a key, as a person would."""
    for node in cluster.nodes.values():
        if KEYS_FILE in node.config.read_text():
            command = [*node.program, "storage", "rekey", "--plain", "--config", str(node.config)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
