"""Many faults, from a seed that nobody has tried before; the report says which."""

import os

import pytest

from tests.chaos.running import chaos

FAULTS = 60
SECONDS_MAX = 3000.0


@pytest.mark.slow
@pytest.mark.client
@pytest.mark.soak
@pytest.mark.parametrize("nodes", [3, 5])
def test_many_faults(nodes: int) -> None:
    seed = int.from_bytes(os.urandom(4), "big")
    print(chaos(nodes=nodes, faults=FAULTS, seed=seed, seconds_max=SECONDS_MAX))


@pytest.mark.slow
@pytest.mark.client
@pytest.mark.soak
def test_many_faults_where_nodes_speak_sasl_ssl() -> None:
    seed = int.from_bytes(os.urandom(4), "big")
    print(chaos(nodes=3, faults=FAULTS // 2, seed=seed, seconds_max=SECONDS_MAX, is_secure=True))


@pytest.mark.slow
@pytest.mark.client
@pytest.mark.soak
def test_many_faults_where_nodes_encrypt_what_they_keep() -> None:
    seed = int.from_bytes(os.urandom(4), "big")
    print(chaos(nodes=3, faults=FAULTS // 2, seed=seed, seconds_max=SECONDS_MAX, is_sealed=True))
