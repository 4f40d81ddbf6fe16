"""Make mutants, hunt them, and keep a list of what became of each. What is in the list is not hunted again."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from tests.mutants.hunting import Ground
from tests.mutants.making import PACKAGES, Mutant, draw

ROOT = Path(__file__).resolve().parent.parent.parent
KEPT = ROOT / "tests/mutants/result.json"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sim-seeds", type=int, default=5, help="seeds of each world that a mutant must survive")
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no other mutant after this time")
    parser.add_argument("--result", type=Path, default=KEPT)
    arguments = parser.parse_args()
    until = time.monotonic() + arguments.minutes * 60
    kept = json.loads(arguments.result.read_text()) if arguments.result.exists() else {}
    with tempfile.TemporaryDirectory(prefix="penstock-mutants-") as folder:
        ground = Ground(ROOT, Path(folder))
        for package in PACKAGES:
            honest = ground.check(package)
            if honest.by:
                print(f"{package} fails without a mutant, in {honest.by}: {honest.says}")
                return 2
        for mutant in draw(Path(folder), arguments.seed, arguments.count):
            diff = mutant.diff((Path(folder) / mutant.path).read_text())
            if diff not in kept and time.monotonic() < until:
                kept[diff] = _hunt(ground, mutant, arguments.sim_seeds)
                arguments.result.write_text(json.dumps(kept, indent=1) + "\n")
    return _tell(kept)


def _hunt(ground: Ground, mutant: Mutant, seeds: int) -> dict[str, object]:
    verdict = ground.hunt(mutant, seeds)
    fate = f"caught by {verdict.by}: {verdict.says}" if verdict.by else "SURVIVED"
    print(f"{mutant.path}:{mutant.line} {mutant.kind}: {fate} ({verdict.seconds:.0f} s)", flush=True)
    return {
        "package": mutant.package,
        "kind": mutant.kind,
        "caught_by": verdict.by,
        "says": verdict.says,
        "seconds": round(verdict.seconds),
    }


def _tell(kept: dict[str, dict[str, object]]) -> int:
    survivors = [diff for diff, fate in kept.items() if not fate["caught_by"]]
    for diff in survivors:
        print(f"\n{diff}")
    for package in PACKAGES:
        fates = [bool(fate["caught_by"]) for fate in kept.values() if fate["package"] == package]
        print(f"{package:10} {sum(fates)} of {len(fates)} caught")
    print(f"{'all':10} {len(kept) - len(survivors)} of {len(kept)} caught")
    return int(bool(survivors))


if __name__ == "__main__":
    sys.exit(main())
