"""Settings of clients by Kafka's names, from `--config FILE` and `--property KEY=VALUE`; only those that act."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Final, NamedTuple

import typer

from penstock.cli.arguments import assignments
from penstock.cli.node_settings import read_settings_file
from penstock.cli.session import TIMEOUT_SECONDS_MAX, command_config
from penstock.client.security import SECURITY_SETTINGS
from penstock.core.records.codecs import Codec

INT_MAX: Final = (1 << 31) - 1
_TRUTH: Final = ("true", "false")


class Setting(NamedTuple):
    """What a setting may be: a number within bounds, one of some words, or, without either, any text."""

    least: int | None = None
    most: int = INT_MAX
    words: tuple[str, ...] = ()


COMMON: Final = {
    "bootstrap.servers": Setting(),
    "client.id": Setting(),
    "request.timeout.ms": Setting(1, int(TIMEOUT_SECONDS_MAX * 1000)),
    **dict.fromkeys(SECURITY_SETTINGS, Setting()),
}
PRODUCER: Final = {
    "acks": Setting(words=("all", "-1", "0", "1")),
    "batch.size": Setting(1),
    "compression.type": Setting(words=tuple(codec.name.lower() for codec in Codec)),
    "delivery.timeout.ms": Setting(1),
    "enable.idempotence": Setting(words=_TRUTH),
    "transaction.timeout.ms": Setting(1),
    "transactional.id": Setting(),
}
CONSUMER: Final = {
    "fetch.max.wait.ms": Setting(0),
    "isolation.level": Setting(words=("read_uncommitted", "read_committed")),
    "max.partition.fetch.bytes": Setting(1),
}
# Only a member of a group has these; they go to the full client as they are.
MEMBER: Final = {
    "auto.commit.interval.ms": Setting(1),
    "client.rack": Setting(),
    "group.instance.id": Setting(),
    "heartbeat.interval.ms": Setting(1),
    "max.poll.interval.ms": Setting(1),
    "partition.assignment.strategy": Setting(),
    "session.timeout.ms": Setting(1),
}

PropertyOption = Annotated[
    list[str] | None, typer.Option("--property", metavar="KEY=VALUE", help="A client's setting; may be repeated.")
]
ConfigOption = Annotated[str | None, typer.Option("--config", metavar="FILE", help="Settings of a client in a file.")]


def client_settings(file: str | None, properties: list[str] | None, *tables: Mapping[str, Setting]) -> dict[str, str]:
    """The settings that were given: a property wins over the file, and that over the one for all commands."""
    known = {name: setting for table in (COMMON, *tables) for name, setting in table.items()}
    found: dict[str, str] = dict(command_config())
    sources = (
        ("--config", read_settings_file(file) if file else {}),
        ("--property", assignments(properties or (), "--property")),
    )
    for option, given in sources:
        for name, value in given.items():
            _check(known, name, value, option)
        found |= given
    return found


def command_settings(path: str) -> dict[str, str]:
    """Those of a file that all commands share: what does not act for one of them may act for another."""
    found = read_settings_file(path, "--command-config")
    known = {**COMMON, **PRODUCER, **CONSUMER, **MEMBER}
    for name, value in found.items():
        _check(known, name, value, "--command-config")
    return {name: value for name, value in found.items() if name in COMMON}


def _check(known: Mapping[str, Setting], name: str, value: str, option: str) -> None:
    setting = known.get(name)
    if setting is None:
        near = get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(known))}"
        raise typer.BadParameter(f"{name} is no setting that acts here; {hint}", param_hint=option)
    if setting.words and value not in setting.words:
        raise typer.BadParameter(f"{name} is one of {', '.join(setting.words)}, not {value!r}", param_hint=option)
    if setting.least is not None and not (value.isdecimal() and setting.least <= int(value) <= setting.most):
        raise typer.BadParameter(
            f"{name} is a number from {setting.least} to {setting.most}, not {value!r}", param_hint=option
        )
