"""A cluster goes from PLAINTEXT to SASL_SSL, node by node, while somebody writes to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.conformance.security.clients import Access, librdkafka
from tests.conformance.security.nodes import PASSWORD, Nodes, scram
from tests.tls.certificates import files

pytestmark = [pytest.mark.client, pytest.mark.soak]

COUNT = 3
ROUNDS = 5


def phases(folder: Path) -> list[dict[str, str]]:
    """As docs/operations.md describes it: listen to both, then talk over the new one, then close the old one."""
    own = files(folder, "node")
    common = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": own.pem,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": own.ca,
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        "listener.name.secure.scram-sha-512.sasl.jaas.config": scram("node", PASSWORD),
        "listener.security.protocol.map": "OPEN:PLAINTEXT,SECURE:SASL_SSL,CONTROLLER:PLAINTEXT",
        "default.replication.factor": "3",
        "min.insync.replicas": "2",
        "offsets.topic.replication.factor": "3",
    }
    both = "OPEN://localhost:@,SECURE://localhost:%,CONTROLLER://localhost:#"
    return [
        {
            "listeners": "OPEN://localhost:@,CONTROLLER://localhost:#",
            "listener.security.protocol.map": "OPEN:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "default.replication.factor": "3",
            "min.insync.replicas": "2",
        },
        {**common, "listeners": both, "inter.broker.listener.name": "OPEN"},
        {**common, "listeners": both, "inter.broker.listener.name": "SECURE"},
        {
            **common,
            "listeners": "SECURE://localhost:%,CONTROLLER://localhost:#",
            "inter.broker.listener.name": "SECURE",
            "listener.security.protocol.map": "SECURE:SASL_SSL,CONTROLLER:PLAINTEXT",
        },
    ]


def test_from_plaintext_to_sasl_ssl(tmp_path: Path) -> None:
    first, *later = phases(tmp_path)
    written: list[bytes] = []
    lost: list[Any] = []

    def write(producer: confluent_kafka.Producer, name: str) -> None:
        for _ in range(ROUNDS):
            value = f"{name}-{len(written)}".encode()
            written.append(value)
            producer.produce("t", value, on_delivery=lambda error, _: lost.append(error) if error else None)
            producer.poll(0)

    with Nodes(tmp_path, first, COUNT) as nodes:
        for number in range(1, COUNT + 1):
            nodes.wait(number)
        where, trusted = f"localhost:{nodes.inner_port}", str(tmp_path / "node.ca.pem")
        secure = Access(where, "SASL_SSL", "SCRAM-SHA-512", "alice", PASSWORD, trusted)
        admin = AdminClient({"bootstrap.servers": nodes.bootstrap})
        admin.create_topics([NewTopic("t", 3, 3)])["t"].result(10)
        producer = confluent_kafka.Producer({"bootstrap.servers": nodes.bootstrap, "enable.idempotence": True})
        for phase, settings in enumerate(later):
            nodes.change(settings)
            if phase == len(later) - 1:
                assert producer.flush(30) == 0
                producer = confluent_kafka.Producer({**librdkafka(secure), "enable.idempotence": True})
            for number in range(1, COUNT + 1):
                write(producer, f"{phase}-{number}")
                nodes.restart(number)
                write(producer, f"{phase}-{number}-after")
        assert producer.flush(60) == 0
        assert not lost
        group = {"group.id": "g", "auto.offset.reset": "earliest", "enable.partition.eof": True}
        consumer = confluent_kafka.Consumer({**librdkafka(secure), **group})
        consumer.subscribe(["t"])
        found: list[bytes | None] = []
        ended = 0
        while ended < 3:
            message = consumer.poll(30)
            assert message is not None
            if message.error() is None:
                found.append(message.value())
            else:
                ended += 1
        consumer.close()
        assert sorted(written) == sorted(value or b"" for value in found)
