"""Real clients that write a record and read it again, each told how to say who it is in its own words."""

from __future__ import annotations

import asyncio
import ssl
import warnings
from typing import Any, NamedTuple

import aiokafka
import confluent_kafka
from confluent_kafka.admin import AdminClient

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaConsumer, KafkaProducer

TIMEOUT_S = 20.0


class Access(NamedTuple):
    """How a client gets in."""

    bootstrap: str
    protocol: str
    mechanism: str | None = None
    user: str | None = None
    password: str | None = None
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None


def librdkafka(access: Access) -> dict[str, Any]:
    given = {
        "bootstrap.servers": access.bootstrap,
        "security.protocol": access.protocol,
        "sasl.mechanism": access.mechanism,
        "sasl.username": access.user,
        "sasl.password": access.password,
        "ssl.ca.location": access.ca,
        "ssl.certificate.location": access.certificate,
        "ssl.key.location": access.key,
    }
    return {name: value for name, value in given.items() if value is not None}


def with_librdkafka(access: Access, topic: str) -> bytes | None:
    settings = librdkafka(access)
    failures: list[Any] = []
    producer = confluent_kafka.Producer({**settings, "error_cb": failures.append})
    producer.produce(topic, b"rd", on_delivery=lambda error, _: failures.append(error) if error else None)
    assert producer.flush(TIMEOUT_S) == 0, failures
    consumer = confluent_kafka.Consumer({**settings, "group.id": f"{topic}-rd", "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe([topic])
        found = consumer.poll(TIMEOUT_S)
        assert found is not None, failures
        assert found.error() is None, found.error()
        value: bytes | None = found.value()
        return value
    finally:
        consumer.close()


def error_of_librdkafka(access: Access) -> str:
    """What it says if it is not let in."""
    failures: list[str] = []
    client = AdminClient({**librdkafka(access), "error_cb": lambda error: failures.append(str(error)), "log_level": 0})
    for _ in range(50):
        client.poll(0.1)
        if failures:
            return failures[0]
    return ""


def python_settings(access: Access) -> dict[str, Any]:
    given = {
        "bootstrap_servers": access.bootstrap,
        "security_protocol": access.protocol,
        "sasl_mechanism": access.mechanism,
        "sasl_plain_username": access.user,
        "sasl_plain_password": access.password,
    }
    return {name: value for name, value in given.items() if value is not None}


def with_kafka_python(access: Access, topic: str) -> bytes | None:
    files = {"ssl_cafile": access.ca, "ssl_certfile": access.certificate, "ssl_keyfile": access.key}
    settings = python_settings(access) | {name: value for name, value in files.items() if value is not None}
    producer = KafkaProducer(**settings)
    producer.send(topic, b"kp").get(TIMEOUT_S)
    producer.close()
    consumer = KafkaConsumer(topic, auto_offset_reset="earliest", consumer_timeout_ms=int(TIMEOUT_S * 1000), **settings)
    try:
        value: bytes | None = next(consumer).value
        return value
    finally:
        consumer.close()


def with_aiokafka(access: Access, topic: str) -> bytes | None:
    return asyncio.run(_with_aiokafka(access, topic))


async def _with_aiokafka(access: Access, topic: str) -> bytes | None:
    settings = python_settings(access)
    if access.ca is not None:
        context = ssl.create_default_context(cafile=access.ca)
        if access.certificate is not None:
            context.load_cert_chain(access.certificate, access.key)
        settings["ssl_context"] = context
    producer = aiokafka.AIOKafkaProducer(**settings)
    await producer.start()
    try:
        await producer.send_and_wait(topic, b"ai")
    finally:
        await producer.stop()
    consumer = aiokafka.AIOKafkaConsumer(topic, auto_offset_reset="earliest", **settings)
    await consumer.start()
    try:
        found = await asyncio.wait_for(consumer.getone(), TIMEOUT_S)
        value: bytes | None = found.value
        return value
    finally:
        await consumer.stop()


CLIENTS = {"librdkafka": with_librdkafka, "kafka-python": with_kafka_python, "aiokafka": with_aiokafka}
