"""Run the three programs, and print what their names promise beside what was counted."""

from __future__ import annotations

from examples.semantics.trial import COUNT, DEATHS, PROGRAMS, trial
from penstock.testing import Broker


def main() -> None:
    print(f"{COUNT} numbers, {len(DEATHS)} deaths\n\n{'program':15}{'lost':>6}{'doubled':>9}{'undone':>8}")
    with Broker({"group.initial.rebalance.delay.ms": 0}) as broker:
        for program in PROGRAMS:
            outcome = trial(broker.bootstrap, program)
            print(f"{program.replace('_', ' '):15}{outcome.lost:>6}{outcome.doubled:>9}{outcome.undone:>8}")


if __name__ == "__main__":
    main()
