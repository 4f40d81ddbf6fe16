"""One of two brokers: takes requests as plain values, gives answers as plain values with what may differ masked."""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

from penstock.core.records.batch import iterate_headers
from penstock.core.wire import Message
from penstock.core.wire.api_table import APIS
from penstock.core.wire.fields import ZERO_UUID, Field, StructSpec
from penstock.core.wire.frames import parse_response_header, request_frame
from tests.waiting import wait_until

ANSWER_S_MAX = 10.0
CLIENT_ID = "sides"
CLOSED = "the connection was closed"
NOW_MS_MIN = 1_600_000_000_000

_KEYS = {api.name: key for key, api in APIS.items()}
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# Wording, addresses and places are each broker's own.
_IGNORED = {"error_message", "batch_index_error_message", "host", "port", "cluster_id", "log_dir", "node_endpoints"}
_INVENTED = {"producer_id", "session_id"}
_NAMING = (
    "name",
    "topic",
    "topic_id",
    "partition_index",
    "partition",
    "index",
    "resource_type",
    "resource_name",
    "group_id",
)
_EMPTY_IS_NULL = {"aborted_transactions"}
FIXED_HERE = frozenset({"remote.storage.enable"})
"""Settings of topics that can be changed in Kafka and are refused here."""
_TIMES = {"log_append_time_ms", "last_timestamp"}


class IdOf(NamedTuple):
    """The id that a broker gave to a topic, wherever a request wants one."""

    topic: str


class Raw(NamedTuple):
    """An answer as it came, for the next request to be made of."""

    message: Any
    seen: Any


class Side:
    """A broker with one connection to it, and the ids of its topics."""

    def __init__(self, name: str, port: int, ids: dict[str, bytes] | None = None) -> None:
        self.name = name
        self.port = port
        self._socket: socket.socket | None = None
        self.ids: dict[str, bytes] = {} if ids is None else ids

    def __repr__(self) -> str:
        return self.name

    def ask(self, api: str, version: int, **values: Any) -> Any:
        """The masked answer."""
        return self.ask_raw(api, version, **values).seen

    def ask_raw(self, api: str, version: int, **values: Any) -> Raw:
        key = _KEYS[api]
        module = import_module(f"penstock.core.wire.api.{APIS[key].module}")
        request = self.build(getattr(module, f"{api}Request").SPEC, values, version)
        frame = self._exchange(b"".join(map(bytes, request_frame(request, key, version, 7, CLIENT_ID))))  # type: ignore[arg-type]  # every part of a request is bytes
        if frame is None:
            return Raw(None, CLOSED)
        _, position = parse_response_header(frame, key, version)
        message: Message = getattr(module, f"{api}Response").decode(frame, version, position)
        return Raw(message, self.mask(message))

    def create(self, name: str, partitions: int = 1, **configs: str) -> None:
        settings = [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]
        topic = {"name": name, "num_partitions": partitions, "replication_factor": 1, "configs": settings}
        (made,) = self.ask_raw("CreateTopics", 7, topics=[topic], timeout_ms=10_000).message.topics
        assert made.error_code == 0, (self, made)
        self.ids[name] = made.topic_id
        wait_until(lambda: self._has_logs(name, partitions), what=f"the logs of {name}")

    def _has_logs(self, name: str, partitions: int) -> bool:
        """Kafka makes the logs of a topic after it has answered for it."""
        rows = [{"partition_index": index, "timestamp": -1} for index in range(partitions)]
        (topic,) = self.ask_raw(
            "ListOffsets", 5, replica_id=-1, topics=[{"name": name, "partitions": rows}]
        ).message.topics
        return not any(row.error_code for row in topic.partitions)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    # Plain values to messages and back

    def build(self, spec: StructSpec, values: dict[str, Any], version: int) -> Any:
        """A struct from nested dicts; values of fields that the version lacks are left out."""
        known = {field.name: field for field in spec.fields}
        given = {name: value for name, value in values.items() if known[name].exists_in(version)}
        missing = {field.name: _empty(field) for field in spec.fields if field.name not in given}
        built = {name: self._value(known[name], each, version) for name, each in given.items()}
        return spec.python_class(**missing, **built)

    def _value(self, field: Field, value: Any, version: int) -> Any:
        if isinstance(value, IdOf):
            return self.ids[value.topic]
        if isinstance(value, list) and field.element is not None:
            return [self._value(field.element, each, version) for each in value]
        if isinstance(value, dict) and field.struct is not None:
            return self.build(field.struct, value, version)
        return value

    def mask(self, value: Any, name: str = "") -> Any:
        """What both brokers must agree on."""
        if hasattr(type(value), "SPEC"):
            fields = [field.name for field in type(value).SPEC.fields if field.name not in _IGNORED]
            return {each: self.mask(getattr(value, each), each) for each in fields}
        if isinstance(value, list) or name in _EMPTY_IS_NULL:
            return sorted((self.mask(each, name) for each in value or []), key=_identity)
        if name == "records" and value:
            # Kafka may add the beginning of a batch that does not fit; readers drop it.
            whole = [position + header.size for position, header in iterate_headers(value, partial_tail=True)]
            return bytes(value[: max(whole, default=0)])
        if name == "topic_id":
            return next((f"id of {topic}" for topic, each in self.ids.items() if each == value), value == ZERO_UUID)
        if name == "protocol_name" and value is None:
            # A refusal names no protocol; older versions have only the empty string to say so with.
            return ""
        if isinstance(value, str):
            return _UUID.sub("(invented)", value)
        if name in _INVENTED or name in _TIMES:
            return "(invented)" if value > 0 else value
        return "(now)" if name == "timestamp" and value > NOW_MS_MIN else _plain(value)

    # The socket

    def _exchange(self, request: bytes) -> bytes | None:
        """The frame that answers, or None if the broker hung up."""
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self.port), ANSWER_S_MAX)
        self._socket.sendall(request)
        size = self._receive(4)
        frame = None if size is None else self._receive(struct.unpack(">i", size)[0])
        if frame is None:
            self.close()
        return frame

    def _receive(self, count: int) -> bytes | None:
        assert self._socket is not None
        found = bytearray()
        while len(found) < count:
            try:
                data = self._socket.recv(count - len(found))
            except (ConnectionResetError, TimeoutError):
                return None
            if not data:
                return None
            found += data
        return bytes(found)


def _identity(value: Any) -> str:
    """What an entry of a list speaks of; the order of the list says nothing."""
    return str([value.get(key) for key in _NAMING] if isinstance(value, dict) else "")


def _empty(field: Field) -> Any:
    if field.element is not None:
        return field.default if field.default is None else []
    return field.default


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value


class Sides:
    """Kafka and us."""

    def __init__(self, kafka: Side, ours: Side) -> None:
        self.kafka = kafka
        self.ours = ours

    def create(self, name: str, partitions: int = 1, **configs: str) -> None:
        self.kafka.create(name, partitions, **configs)
        self.ours.create(name, partitions, **configs)

    def same(self, api: str, version: int, **values: Any) -> Any:
        """Ask both the same; gives the answer they agree on."""
        return self.agree(lambda side: side.ask(api, version, **values))

    def agree(self, work: Callable[[Side], Any]) -> Any:
        """Do the same with both; gives what they agree on."""
        expected, found = work(self.kafka), work(self.ours)
        found_differences = list(differences(expected, found))
        assert not found_differences, "\n".join(["Kafka says, we say:", *found_differences])
        return found

    def agree_soon(self, work: Callable[[Side], Any]) -> Any:
        """The same for reads behind a change: Kafka's controller answers before its broker has heard of it. Ours is
        asked once."""
        found, expected = work(self.ours), None

        def says_the_same() -> bool:
            nonlocal expected
            expected = work(self.kafka)
            return not any(differences(expected, found))

        try:
            wait_until(says_the_same, what="Kafka says the same")
        except AssertionError:
            raise AssertionError("\n".join(["Kafka says, we say:", *differences(expected, found)])) from None
        return found


def differences(expected: Any, found: Any, path: str = "") -> Iterator[str]:
    """Each place where two answers part, one line each."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in sorted(expected.keys() | found.keys(), key=str):
            yield from differences(expected.get(key), found.get(key), f"{path}.{key}")
    elif isinstance(expected, list | tuple) and isinstance(found, list | tuple) and len(expected) == len(found):
        for index, pair in enumerate(zip(expected, found, strict=True)):
            yield from differences(*pair, f"{path}[{index}]")
    elif expected != found:
        yield f"{path}: {expected!r}, {found!r}"
