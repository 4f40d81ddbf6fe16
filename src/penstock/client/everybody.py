"""Asking each broker: what they answer, and who does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from penstock.client.blocking import SOON_SECONDS, Client
from penstock.client.errors import ClientError

T = TypeVar("T")


class Silent(NamedTuple):
    """Brokers that did not answer, and the failure of the first."""

    brokers: tuple[int, ...] = ()
    failure: ClientError | None = None

    def refuse(self) -> None:
        """Everybody was needed."""
        if self.failure is not None:
            raise self.failure


def ask_everybody(client: Client, ask: Callable[[int], T]) -> tuple[dict[int, T], Silent]:
    """The answers by broker, where somebody answers at all: who is away is not waited for."""
    client.retry(lambda: client.refresh(()))
    answers: dict[int, T] = {}
    failures: dict[int, ClientError] = {}
    for node in list(client.cluster.brokers):
        try:
            with client.within(SOON_SECONDS):
                answers[node] = client.retry(lambda node=node: ask(node))  # type: ignore[misc]  # What it gives is what `ask` gives.
        except ClientError as failure:
            if not failure.is_absence:
                raise
            failures[node] = failure
    silent = Silent(tuple(failures), next(iter(failures.values()), None))
    if not answers:
        silent.refuse()
    return answers, silent
