"""Each alert fires for the fault it is for, and is silent without it: the rules, as Prometheus evaluates them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from penstock.cli.generating.templating import filled
from tests.monitoring.tools import promtool, run

RULES: Final = filled("rules.yaml", job="penstock")
ON: Final = 'job="penstock",instance="a"'


class Case(NamedTuple):
    """Series of a minute's steps that fire an alert, and some like them that do not; looked at after some minutes."""

    fault: dict[str, str]
    calm: dict[str, str]
    minutes: int = 20


def one(name: str, fault: str, calm: str, labels: str = "", minutes: int = 20) -> Case:
    series = f"{name}{{{ON}{',' if labels else ''}{labels}}}"
    return Case({series: fault}, {series: calm}, minutes)


def election(name: str, slow: int) -> dict[str, str]:
    """Ten minutes with an election a minute, some of which took longer than 5 s."""
    return {
        f"{name}_count{{{ON}}}": "0+1x20",
        f'{name}_bucket{{{ON},le="5.0"}}': f"0+1x10 10x{slow - 1} 11+1x9" if slow else "0+1x20",
    }


def audited(gaps: str, sums: str) -> dict[str, str]:
    return {f'penstock_audit_gaps{{{ON},kind="missing"}}': gaps, f"penstock_audit_differing_sums{{{ON}}}": sums}


GROUP: Final = 'consumergroup="g",topic="t"'
WEEK_MS: Final = 7 * 24 * 3600 * 1000
CASES: Final = {
    "NodeDown": one("up", "1 1 0x20", "1x20"),
    "UnderReplicatedPartitions": one(
        "kafka_server_replicamanager_underreplicatedpartitions", "0 0 3x20", "0x15 3 0x20"
    ),
    "UnderMinIsr": one("kafka_server_replicamanager_underminisrpartitioncount", "0 1x20", "0x20"),
    "OfflinePartitions": one("kafka_controller_kafkacontroller_offlinepartitionscount", "0 2x20", "0x20"),
    "NoController": one("kafka_controller_kafkacontroller_activecontrollercount", "1 0x20", "1x20"),
    "SlowElection": Case(
        election("penstock_controller_election_seconds", 2), election("penstock_controller_election_seconds", 0), 12
    ),
    "ConsumerLagRecords": one("kafka_consumergroup_lag_sum", "0 1000001x20", "0 999999x20", GROUP),
    "ConsumerLagSeconds": one("penstock_consumergroup_lag_seconds", "0 11x20", "0 9x20", GROUP),
    "DiskFilling": Case(
        {f"penstock_disk_free_bytes{{{ON}}}": "100-10x9 10x20", f"penstock_disk_size_bytes{{{ON}}}": "100x30"},
        {f"penstock_disk_free_bytes{{{ON}}}": "100-10x6 40x20", f"penstock_disk_size_bytes{{{ON}}}": "100x30"},
    ),
    "DiskFull": one("penstock_disk_full", "0 1x20", "0x20"),
    "DiskDamaged": Case(
        {f"penstock_offline_replicas{{{ON}}}": "1x20", f"penstock_damaged_batches{{{ON}}}": "0x20"},
        {f"penstock_offline_replicas{{{ON}}}": "0x20", f"penstock_damaged_batches{{{ON}}}": "0x20"},
    ),
    # A broker that has died leaves ten thousand sets at once: that is no storm.
    "IsrStorm": one("kafka_server_replicamanager_isrshrinks_total", "0+5x30", "0x5 10000x30", minutes=25),
    # Nor is a deployment that takes three minutes.
    "RebalanceStorm": one("penstock_group_rebalances_total", "0+8x30", "0+8x3 24x30", minutes=25),
    "AuditGap": Case(audited("0 1x20", "0x20"), audited("0x20", "0x20")),
    "DeadLettersGrowing": one("penstock_dead_letters_total", "0x10 3x20", "3x20", minutes=12),
    "CertificateExpiresSoon": one(
        "strimzi_certificate_expiration_timestamp_ms", f"{WEEK_MS}x20", f"{3 * WEEK_MS}x20", 'type="SSL"'
    ),
}
PARTITIONS: Final = "penstock_partition_leaderless_seconds"
MORE: Final = {
    "AuditGap": (Case(audited("0x20", "0 2x20"), audited("0 1 0x20", "0x20")),),
    "SlowElection": (
        Case(election(PARTITIONS, 2), election(PARTITIONS, 0), 12),
        one("penstock_controller_missing_seconds", "0 0 8x20", "0 0 2 0x20"),
    ),
}


def test_each_alert_has_a_case() -> None:
    assert CASES.keys() == set(re.findall(r"- alert: (\w+)", RULES))


def checks(case: Case, alert: str) -> list[dict[str, object]]:
    at = f"{case.minutes}m"
    return [
        {
            "interval": "1m",
            "input_series": [{"series": name, "values": values} for name, values in series.items()],
            "promql_expr_test": [
                {
                    "expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})',
                    "eval_time": at,
                    "exp_samples": [{"labels": "{}", "value": 1}] if is_fault else [],
                }
            ],
        }
        for is_fault, series in ((True, case.fault), (False, case.calm))
    ]


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.parametrize("alert", CASES)
def test_an_alert_fires_for_its_fault_alone(alert: str, tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(RULES)
    tests = [test for case in (CASES[alert], *MORE.get(alert, ())) for test in checks(case, alert)]
    told = {"rule_files": ["rules.yml"], "evaluation_interval": "15s", "tests": tests}
    (tmp_path / "tests.yml").write_text(json.dumps(told))
    run(promtool(), "test", "rules", "tests.yml", cwd=tmp_path)
