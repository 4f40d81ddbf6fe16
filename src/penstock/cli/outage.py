"""What a reader does while no broker answers: says so once, waits, says when it goes on, or gives up when told to."""

import time
from collections.abc import Iterable, Mapping

from penstock.cli.cluster_picture import numbers_text
from penstock.cli.talk import say
from penstock.client.blocking import Client
from penstock.client.errors import ClientError
from penstock.client.everybody import Silent
from penstock.client.metadata import TopicPartition
from penstock.client.reading import Chunk, Reader

PAUSE_SECONDS_FIRST = 0.05
PAUSE_SECONDS_MAX = 1.0


class Outage:
    """The time since brokers stopped to answer. None as patience waits for ever."""

    def __init__(self, patience_seconds: float | None) -> None:
        self._patience_seconds = patience_seconds
        self._since: float | None = None
        self._was_said = False

    def goes_on(self, failure: ClientError, quiet_seconds: float = 0.0) -> None:
        """Brokers do not answer now either: raises the failure once that has lasted for too long. What may pass at
        once is not worth a word before some seconds are over."""
        now = time.monotonic()
        self._since = since = now if self._since is None else self._since
        if self._patience_seconds is not None and now - since >= self._patience_seconds:
            raise failure
        if not self._was_said and now - since >= quiet_seconds:
            self._was_said = True
            say(f"penstock: {failure}; waiting until that changes, ctrl-c ends it")

    def is_over(self) -> None:
        """A broker has answered."""
        self._since = None
        if self._was_said:
            self._was_said = False
            say("penstock: a broker answers again, going on")


class PatientReader(Reader):
    """A reader that outlives its brokers."""

    def __init__(
        self,
        client: Client,
        positions: Mapping[TopicPartition, int],
        outage: Outage,
        *,
        until: Mapping[TopicPartition, int] | None,
        isolation: int,
        **sizes: int,
    ) -> None:
        """`sizes` are the reader's own: how long a fetch waits, and how much it brings."""
        # Every failure is to be heard of at once: trying again happens here.
        super().__init__(client, positions, until=until, isolation=isolation, patience=0, **sizes)
        self._outage = outage

    def poll(self, wait_ms: int | None = None, only: Iterable[TopicPartition] | None = None) -> list[Chunk]:
        places = None if only is None else list(only)
        pause = PAUSE_SECONDS_FIRST
        while True:
            try:
                chunks = super().poll(wait_ms, places)
            except ClientError as failure:
                if not failure.is_transient:
                    raise
                self._outage.goes_on(failure)
                time.sleep(pause)
                pause = min(2 * pause, PAUSE_SECONDS_MAX)
            else:
                self._outage.is_over()
                return chunks


def say_silent(silent: Silent, what: str) -> None:
    """Name the brokers that were not heard, and what is therefore not shown."""
    if silent.brokers:
        say(f"penstock: no answer from broker {numbers_text(silent.brokers)}: {what} are not shown that only it knows")
