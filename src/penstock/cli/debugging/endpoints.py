"""What nodes tell of themselves over HTTP: metrics, among them how long their loops stood still, and health."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

from penstock.cli.debugging.bundle import PART_BYTES_MAX, Part
from penstock.cli.debugging.here import Place
from penstock.cli.node_settings import METRICS_HOST_KEY, METRICS_PORT_KEY, joined_address, read_settings_file

SECONDS_MAX: Final = 10.0
_METRICS: Final = "metrics, stalls of the loop among them"
_PATHS: Final = {"metrics/full": _METRICS, "health/live": "health", "health/ready": "health, and why not"}
_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def parts(found: Sequence[Place]) -> Iterator[Part]:
    for place in found:
        for path, what in _PATHS.items():
            yield Part(f"{place.name}/{path.replace('/', '-')}.txt", what, partial(_get, place, path))


def _get(place: Place, path: str) -> str:
    settings = read_settings_file(place.settings_path)
    port = settings.get(METRICS_PORT_KEY, "-1")
    if not port.isdecimal() or port == "0":
        return f"{METRICS_PORT_KEY} is not set: the node serves no metrics\n"
    if settings.get("penstock.metrics.tls") == "true":
        return "served over TLS, and not got\n"
    host = settings.get(METRICS_HOST_KEY, "127.0.0.1")
    address = joined_address(_EVERYWHERE.get(host, host), int(port))
    request = Request(f"http://{address}/{path}", headers=_login(settings))
    try:
        with build_opener(ProxyHandler({})).open(request, timeout=SECONDS_MAX) as answer:
            return _text(answer.read(PART_BYTES_MAX))
    except HTTPError as refusal:
        # A node that is not ready answers so, and says why.
        with refusal:
            return f"{refusal.code} {refusal.reason}\n{_text(refusal.read(PART_BYTES_MAX))}"


def _login(settings: Mapping[str, str]) -> dict[str, str]:
    user, password = settings.get("penstock.metrics.user"), settings.get("penstock.metrics.password")
    if not user or password is None:
        return {}
    return {"Authorization": f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"}


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
