"""A run as metrics in Prometheus' text format, for the textfile collector of its node exporter."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from penstock.client.audit.findings import Kind


def write_metrics(path: Path, facts: dict[str, Any]) -> None:
    """Whoever collects sees the old file or the new one, whole."""
    fresh = path.with_name(f".{path.name}.tmp")
    fresh.write_text(metrics(facts), encoding="utf-8")
    os.replace(fresh, path)


def metrics(facts: dict[str, Any]) -> str:
    kinds = [gap["kind"] for gap in facts["gaps"]]
    differing = sum(not one["adds_up"] for one in facts["sums"])
    lines = [
        "# HELP penstock_audit_gaps Ranges of logs that the newest run found wrong.",
        "# TYPE penstock_audit_gaps gauge",
        *(f'penstock_audit_gaps{{kind="{kind.value}"}} {kinds.count(kind.value)}' for kind in Kind),
        "# HELP penstock_audit_differing_sums Sums of pipelines that are not those of their topics.",
        "# TYPE penstock_audit_differing_sums gauge",
        f"penstock_audit_differing_sums {differing}",
        "# HELP penstock_audit_run_timestamp_seconds When the newest run ended.",
        "# TYPE penstock_audit_run_timestamp_seconds gauge",
        f"penstock_audit_run_timestamp_seconds {facts['at_ms'] / 1000:.3f}",
    ]
    return "\n".join(lines) + "\n"
