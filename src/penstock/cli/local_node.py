"""A node of a folder that `penstock up` keeps, found by the cluster it belongs to."""

from __future__ import annotations

from penstock.cli.folder import ClusterFolder, NodeFolder
from penstock.cli.folder_commands import stop_process
from penstock.cli.formatting import read_meta


def stop_local_node(data_dir: str, number: int, cluster_id: str | None) -> bool:
    """Stop it cleanly and wait until it has stopped; False where the folder has no such node, or it does not run."""
    node = find_local_node(data_dir, number, cluster_id)
    return node is not None and stop_process(node.pid_file.holder)


def find_local_node(data_dir: str, number: int, cluster_id: str | None) -> NodeFolder | None:
    """The node's own folder, if it is in this one."""
    node = ClusterFolder(data_dir).node(number)
    meta = read_meta(node.path)
    return None if meta is None or meta.cluster_id != cluster_id else node
