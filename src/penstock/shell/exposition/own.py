"""What only Penstock has: its bounds, its scrub, what is damaged or set aside."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.core.node.health_check import hindrances
from penstock.core.node.node import Node
from penstock.shell.exposition.families import COUNTER, GAUGE, Family, labels, single


def own_families(node: Node) -> Iterator[Family]:
    memory = node.frame_memory
    host, port = (node.advertised[0].host, node.advertised[0].port) if node.advertised else ("", 0)
    info = labels(id=node.node_id, address=f"{host}:{port}")
    yield Family("kafka_broker_info", GAUGE, "A node, and where its clients find it.", ((info, 1),))
    yield single("penstock_ready", GAUGE, "1 while this node serves all that is asked.", int(not any(hindrances(node))))
    yield single("penstock_unfinished_frame_bytes", GAUGE, "Room for requests not here yet.", memory.bytes)
    yield single("penstock_frames_waiting", GAUGE, "Requests that wait for room.", memory.waiting)
    yield single("penstock_frames_given_up_total", COUNTER, "Requests that did not end.", memory.given_up)
    yield single("penstock_fetch_sessions", GAUGE, "Incremental fetch sessions.", node.fetching.session_count)
    text = "Partitions that were read from the disk because the newest batches were not enough."
    yield single("penstock_cold_reads_total", COUNTER, text, node.fetching.cold_reads)
    yield single("penstock_topics", GAUGE, "Topics.", len(node.image.topics))
    yield from _disk(node)


def _disk(node: Node) -> Iterator[Family]:
    metrics = node.metrics
    yield single("penstock_disk_full", GAUGE, "1 while writes are refused for want of room.", int(node.disk_full))
    free, total = node.housekeeping.disk_room
    folder = labels(folder=node.settings.log_dir)
    yield Family("penstock_disk_free_bytes", GAUGE, "Room on the disk of the data.", ((folder, free),))
    yield Family("penstock_disk_size_bytes", GAUGE, "Its size.", ((folder, total),))
    lost = int(node.has_quorum and node.quorum.loss is not None)
    yield single("penstock_metadata_rebuilding", GAUGE, "1 while lost metadata comes from others.", lost)
    text = "Metadata got back from others."
    yield single("penstock_metadata_rebuilds_total", COUNTER, text, metrics.metadata_rebuilds)
    offline = len(node.replicas.offline) if node.has_opened else 0
    yield single("penstock_offline_replicas", GAUGE, "Replicas that are damaged and not open.", offline)
    yield single("penstock_scrubbed_bytes_total", COUNTER, "Bytes compared with checksums.", metrics.scrubbed_bytes)
    damaged = sum(1 for _ in node.scrub.found())
    yield single("penstock_damaged_batches", GAUGE, "Damaged places in open logs.", damaged)
    yield single("penstock_indexes_rebuilt_total", COUNTER, "Indexes that were wrong.", metrics.indexes_rebuilt)
    strays = len(node.replicas.strays) if node.has_opened else 0
    yield single("penstock_stray_partitions", GAUGE, "Folders with records that have no place here.", strays)
