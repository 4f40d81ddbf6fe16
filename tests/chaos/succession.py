"""How long a cluster cannot decide when its controller is killed: `python -m tests.chaos.succession --help`"""

from __future__ import annotations

import argparse
import sys
import time

from penstock.client.blocking import Client
from penstock.core.wire.api.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from tests.chaos.cluster import REPLICAS, ChaosCluster, on_loopback
from tests.chaos.gaps import controller_of

NODES = 3
SECONDS_MAX = 1.0
ANSWER_MS_MAX = 30_000
TOPIC = "first"


def measure(cluster: ChaosCluster, name: str) -> float:
    """Seconds from the death of the controller until a topic is created, for somebody who asks another node."""
    controller = controller_of(cluster)
    other = next(node for node in cluster.nodes.values() if node.number != controller)
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=REPLICAS - 1)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=ANSWER_MS_MAX)
    with Client(f"{other.host}:{other.port}", timeout=ANSWER_MS_MAX / 1000) as client:
        client.link()
        cluster.nodes[controller].kill()
        killed = time.monotonic()
        (created,) = client.ask(request, CreateTopicsResponse).topics
        took = time.monotonic() - killed
    assert created.error_code == 0, created.error_message
    cluster.start([controller])
    cluster.wait_healed(TOPIC)
    return took


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.succession", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with on_loopback(NODES) as cluster:
        cluster.create_topic(TOPIC, NODES)
        took = [measure(cluster, f"topic-{number}") for number in range(options.rounds)]
    times = ", ".join(f"{each * 1000:.0f}" for each in took)
    print(f"a topic was created after {times} ms, may be {SECONDS_MAX * 1000:.0f} ms")
    return 0 if max(took) <= SECONDS_MAX else 1


if __name__ == "__main__":
    sys.exit(main())
