"""A node of a folder that `penstock up` keeps, found by the cluster it belongs to."""

from __future__ import annotations

from penstock.cli.folder import ClusterFolder
from penstock.cli.folder_commands import stop_process
from penstock.cli.formatting import read_meta


def stop_local_node(data_dir: str, number: int, cluster_id: str | None) -> bool:
    """Stop it cleanly and wait until it has stopped; False where the folder has no such node, or it does not run."""
    node = ClusterFolder(data_dir).node(number)
    meta = read_meta(node.path)
    if meta is None or meta.cluster_id != cluster_id:
        return False
    return stop_process(node.pid_file.holder)
