"""For each setting about metrics over HTTP: what is seen under its default and another value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.core.wire.api.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from tests.settings_act import socket_checks as sockets
from tests.settings_act import tls_checks as tls
from tests.settings_act.trial import Flip, Trial, on


def telemetry_bytes_max(trial: Trial) -> object:
    """How much a client is told that it may push."""
    answer = trial.begin().client().ask(GetTelemetrySubscriptionsRequest(client_instance_id=bytes(16)))
    return answer.telemetry_max_bytes


OF_METRICS: Final[Mapping[str, Flip]] = {
    "telemetry.max.bytes": Flip(telemetry_bytes_max, ("1048576", 1 << 20), ("1024", 1024)),
    "penstock.log.format": Flip(sockets.logs_objects, ("text", False), ("json", True)),
    "penstock.metrics.host": Flip(
        on(sockets.has_metrics_at, sockets.OTHER_LOOPBACK),
        (sockets.LOOPBACK, False),
        (sockets.OTHER_LOOPBACK, True),
    ),
    "penstock.metrics.user": Flip(sockets.metrics_answer, ("", 200), ("scraper", 401)),
    "penstock.metrics.password": Flip(
        on(sockets.metrics_answer, "scraper:secret", penstock_metrics_user="scraper"), (None, 401), ("secret", 200)
    ),
    "penstock.metrics.tls": Flip(
        on(sockets.speaks_tls, ssl_keystore_type="PEM", ssl_keystore_location=tls.own().pem),
        ("false", False),
        ("true", True),
    ),
    "penstock.metrics.port": Flip(sockets.has_metrics, ("-1", False), ("0", True)),
}
