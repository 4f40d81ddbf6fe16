"""Fixed seeds in every test run; `make soak` runs many more, of the node and of the log in a file each."""

from __future__ import annotations

import pytest

from penstock.sim.log_scenario import run_log_seed
from penstock.sim.run import MUST_HAPPEN, draw_spec, main, run_seed
from tests.sim.many_seeds import LOG_MUST_HAPPEN, run_all

NODE_SEEDS = range(25)
LOG_SEEDS = range(20)
REGRESSIONS = {
    60: "a log that was closed while a failed append was undone kept producers that knew of lost batches",
    413: "undoing a failed append forgot all but the last batch of each producer",
    126: "a topic was said to be gone before its deletion was committed",
    1057: "producers began from a snapshot whose following segments retention had taken",
    913_940_469: "a topic was believed to have synced what an older one of its name had",
    400_440_548: "what waited for the first file was written when the sync of it had failed, and came back without it",
    887_350_419: "compaction had taken a batch among a producer's last five, and after a crash it was sent again",
    110_390_524: "the judge took it that a node that knows of a deletion has acted on it, though its disk was slow",
    616_730_529: "a slow reader took the file that compaction had replaced last for the one replaced before it",
    1407: "a second copy, under another producer id, was taken for a record out of order when the first was deleted",
}
LOG_REGRESSIONS = {
    1610: "a power loss took the first segment's name and left the next one's, and a producer's order with it",
    1252: "a flush took for synced what was appended while it synced another segment",
    543_620_943: "the judge took it that a batch stands no lower than what was acknowledged before a power loss",
}


@pytest.mark.slow
def test_the_node_keeps_its_promises() -> None:
    run_all(run_seed, NODE_SEEDS, MUST_HAPPEN)


@pytest.mark.slow
@pytest.mark.parametrize("seed", REGRESSIONS)
def test_what_a_seed_once_showed_is_mended(seed: int) -> None:
    run_all(lambda seed: run_seed(seed, draw_spec(seed, stagings=0.0)), range(seed, seed + 1), ())


@pytest.mark.slow
@pytest.mark.parametrize("seed", LOG_REGRESSIONS)
def test_what_a_seed_once_showed_of_the_log_is_mended(seed: int) -> None:
    run_all(run_log_seed, range(seed, seed + 1), ())


@pytest.mark.slow
def test_the_log_alone_keeps_its_promises() -> None:
    run_all(run_log_seed, LOG_SEEDS, LOG_MUST_HAPPEN)


@pytest.mark.slow
def test_the_command_prints_what_happened() -> None:
    lines: list[str] = []
    assert main(["--seeds", "3", "--verbose"], lines.append) == 0
    text = "".join(lines)
    assert "seed 3: " in text
    for what in MUST_HAPPEN:
        assert what in text
