"""Which cluster a run or one of its topics is in, and how clients get in there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from penstock.client.blocking import Client
from penstock.client.security import security_of
from penstock.spark.pipelines.declaration import TopicSource
from penstock.spark.rows.settings import PREFIX

BOOTSTRAP: Final = f"{PREFIX}bootstrap.servers"
TIMEOUT_S: Final = 10.0


@dataclass(frozen=True)
class Cluster:
    """An address, and a client's settings by Kafka's names. They may hold secrets, and are not shown."""

    bootstrap: str
    settings: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)

    def options(self) -> dict[str, str]:
        """Those of `format("penstock")` that lead here."""
        known = {name: value for name, value in self.settings.items() if name != "bootstrap.servers"}
        return {BOOTSTRAP: self.bootstrap} | {f"{PREFIX}{name}": value for name, value in known.items()}

    def merged_with(self, options: Mapping[str, str]) -> dict[str, str]:
        """Options of a source or a sink, whatever their case, and of ours those that they leave out. Whoever names
        another cluster says also how to get in: what lets us in here is none of its business."""
        given = {name.lower() for name in options}
        own = {} if BOOTSTRAP in given else self.options()
        return {name: value for name, value in own.items() if name not in given} | dict(options)

    def client(self, client_id: str, timeout: float = TIMEOUT_S) -> Client:
        name = self.settings.get("client.id", client_id)
        return Client(self.bootstrap, client_id=name, timeout=timeout, security=security_of(self.settings))


def cluster_of(source: TopicSource, default: Cluster) -> Cluster:
    """The one that a source reads."""
    return default if source.cluster is None else cluster_named_by(source, source.cluster)


def cluster_named_by(source: TopicSource, bootstrap: str) -> Cluster:
    """Another one than that of the run, with what the source says of getting in."""
    given = {name.lower(): value for name, value in source.options.items()}
    settings = {name.removeprefix(PREFIX): value for name, value in given.items() if name.startswith(PREFIX)}
    return Cluster(bootstrap, settings)
