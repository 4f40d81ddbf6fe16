"""What can go wrong, as exceptions that a program can tell apart; each says which Kafka error is behind it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

try:
    from confluent_kafka import KafkaError, KafkaException
except ModuleNotFoundError as missing:
    if missing.name != "confluent_kafka":
        raise
    raise ModuleNotFoundError(
        "penstock.Producer, Consumer and Admin need confluent-kafka: pip install 'penstock[client]'", name=missing.name
    ) from None


class PenstockError(Exception):
    """Something that a broker or the client library refused. `name` is Kafka's name of the error."""

    def __init__(self, message: str, name: str = "UNKNOWN", *, is_retriable: bool = False) -> None:
        super().__init__(message)
        self.name = name
        self.is_retriable = is_retriable


class TimedOut(PenstockError, TimeoutError):
    """Nobody answered in time; what was asked for may have happened all the same."""


class TopicUnknown(PenstockError):
    """There is no such topic or partition."""


class TopicExists(PenstockError):
    """There is a topic of that name already."""


class NotAuthorized(PenstockError):
    """The principal lacks the right for this, or could not be authenticated."""


class ProducerFenced(PenstockError):
    """Another producer with this transactional id has begun: this one can only be closed."""


class TransactionAborted(PenstockError):
    """The transaction could not be committed and was aborted: nothing of it counts. It may be tried again."""


_CLASSES: dict[str, type[PenstockError]] = {
    "_TIMED_OUT": TimedOut,
    "_TIMED_OUT_QUEUE": TimedOut,
    "_MSG_TIMED_OUT": TimedOut,
    "_TRANSPORT": TimedOut,
    "_ALL_BROKERS_DOWN": TimedOut,
    "REQUEST_TIMED_OUT": TimedOut,
    "UNKNOWN_TOPIC_OR_PART": TopicUnknown,
    "UNKNOWN_TOPIC_ID": TopicUnknown,
    "_UNKNOWN_TOPIC": TopicUnknown,
    "_UNKNOWN_PARTITION": TopicUnknown,
    "TOPIC_ALREADY_EXISTS": TopicExists,
    "TOPIC_AUTHORIZATION_FAILED": NotAuthorized,
    "GROUP_AUTHORIZATION_FAILED": NotAuthorized,
    "CLUSTER_AUTHORIZATION_FAILED": NotAuthorized,
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": NotAuthorized,
    "SASL_AUTHENTICATION_FAILED": NotAuthorized,
    "_AUTHENTICATION": NotAuthorized,
    "PRODUCER_FENCED": ProducerFenced,
    "INVALID_PRODUCER_EPOCH": ProducerFenced,
    "_FENCED": ProducerFenced,
}


def error_of(error: KafkaError, doing: str) -> PenstockError:
    """The exception that says what a Kafka error means for the program."""
    name = error.name()
    kind = _CLASSES.get(name, PenstockError)
    return kind(f"{doing}: {error.str()}", name, is_retriable=error.retriable())


@contextmanager
def checked_config() -> Iterator[None]:
    """What the client library has against a configuration is misuse: a ValueError."""
    try:
        yield
    except KafkaException as failure:
        raise ValueError(failure.args[0].str()) from None


@contextmanager
def explained(doing: str) -> Iterator[None]:
    """Let what the client library raises come out as our exceptions; misuse stays a TypeError or ValueError."""
    try:
        yield
    except KafkaException as failure:
        raise error_of(failure.args[0], doing) from failure
