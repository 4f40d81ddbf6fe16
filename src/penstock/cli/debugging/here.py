"""What this machine tells: versions, the settings of its nodes, sizes of their folders, the ends of their logs."""

from __future__ import annotations

import json
import os
import platform
import re
import resource
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any, Final, NamedTuple

from penstock import __version__
from penstock.cli.debugging.bundle import Part
from penstock.cli.debugging.redacting import Redactor
from penstock.cli.folder import LOG, OLD_LOG, ClusterFolder
from penstock.core.base.settings.properties import parse_properties

TAIL_BYTES_MAX: Final = 1 << 20
FILES_MAX: Final = 20_000
_PACKAGE: Final = re.compile(r"[A-Za-z0-9._-]+")


class Place(NamedTuple):
    """A node of this machine: its settings file, and the folder of its data."""

    name: str
    settings_path: str
    folder: str


def places(config: str | None, data_dir: str) -> list[Place]:
    """The node of a settings file, or those of a local cluster's folder, if there are any."""
    if config is not None:
        from penstock.cli.node_settings import read_settings_file

        folder = read_settings_file(config).get("log.dirs", "").split(",")[0].strip()
        return [Place("node", config, folder)]
    return [Place(f"node-{each.number}", each.settings_path, each.path) for each in ClusterFolder(data_dir).nodes()]


def parts(found: Sequence[Place], data_dir: str | None, redact: Redactor) -> Iterator[Part]:
    yield Part("versions.json", "Penstock, Python, packages, system", lambda: _json(_versions()))
    for place in found:
        settings = partial(_settings, place.settings_path, redact)
        yield Part(f"{place.name}/server.properties", "settings; values that may be secret are hidden", settings)
        yield Part(f"{place.name}/files.txt", "its files by name and size", partial(_listed, place.folder))
    if data_dir is not None:
        for name in (OLD_LOG, LOG):
            path = os.path.join(data_dir, name)
            if os.path.exists(path):
                yield Part(f"logs/{name}", "the end of what the nodes have said", partial(tail, path))


def _versions() -> dict[str, Any]:
    names = sorted({match[0] for each in requires("penstock") or () if (match := _PACKAGE.match(each))})
    return {
        "penstock": __version__,
        "python": sys.version,
        "packages": {name: found for name in names if (found := _version(name))},
        "system": platform.platform(),
        "processors": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "open_files_max": resource.getrlimit(resource.RLIMIT_NOFILE),
        "load": os.getloadavg(),
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _settings(path: str, redact: Redactor) -> str:
    with open(path, encoding="utf-8") as file:
        return redact.settings(file.read())


def _listed(folder: str) -> str:
    return "\n".join(_files(folder)) + "\n"


def _files(folder: str) -> list[str]:
    lines: list[str] = []
    total_bytes = 0
    for path, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            try:
                size = os.path.getsize(os.path.join(path, name))
            except FileNotFoundError:
                continue
            total_bytes += size
            if len(lines) < FILES_MAX:
                lines.append(f"{size:>14}  {os.path.relpath(os.path.join(path, name), folder)}")
    free = os.statvfs(folder)
    lines.append(f"{total_bytes:>14}  in all")
    return [*lines, f"{free.f_bavail * free.f_frsize:>14}  free"]


def tail(path: str) -> str:
    """The end of a log, from a line's beginning on."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - TAIL_BYTES_MAX))
        data = file.read(TAIL_BYTES_MAX)
    return (data.partition(b"\n")[2] if size > TAIL_BYTES_MAX else data).decode(errors="replace")


def learn_security(data_dir: str, redact: Redactor) -> None:
    """What the files of a secure cluster hold is not in a bundle, and nothing of it is elsewhere in it."""
    folder = ClusterFolder(data_dir).security_path
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
            text = file.read()
        if name.endswith(".properties"):
            redact.client(parse_properties(text))
        else:
            redact.learn(text)


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, default=str) + "\n"
