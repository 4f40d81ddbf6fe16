"""`penstock sim`: run nodes in the simulated world, and say how much faster than real time that was.

The world holds a whole node, which takes longer to import than other commands to run: only who wants it loads it.
"""

import gc
import sys
from pathlib import Path
from time import monotonic, process_time
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.arguments import at_least
from penstock.cli.output import Output, print_json
from penstock.cli.session import OutputOption
from penstock.cli.talk import Misused, Refused, say

if TYPE_CHECKING:
    from penstock.sim.report import Report
    from penstock.sim.run import Plan, Tally

NODES_MAX = 100
US_PER_S = 1_000_000
GARBAGE_ALLOCATIONS = 50_000


def sim(
    seeds: Annotated[str, typer.Option("--seeds", metavar="N|N-M", help="A seed, or a range of them.")] = "0-19",
    nodes: Annotated[
        int,
        typer.Option("--nodes", metavar="N", callback=at_least(1, NODES_MAX), help="How many machines there are."),
    ] = 1,
    storm: Annotated[
        Path | None,
        typer.Option("--storm", metavar="FILE", help="Faults and errands, a line each, instead of drawn ones."),
    ] = None,
    idle: Annotated[
        bool, typer.Option("--idle", help="Let nodes rest for ten minutes: nobody works, nothing breaks.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print a line per seed.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Run nodes in a world made of a seed: virtual time, disks, network, and faults. The last line is the verdict, and
    the exit code 0 if no promise was broken; the first seed that breaks one is told, with what happened last."""
    from penstock.sim.run import Plan, run_seeds

    plan = Plan(_seeds(seeds), nodes, None if storm is None else _storm(storm, nodes), idle)

    def heard(report: "Report") -> None:
        if verbose:
            say(f"seed {report.seed}: {report.events} events, trace {report.trace_hash}")

    # What is loaded by now stays, and a world leaves few cycles behind before it ends.
    gc.freeze()
    gc.set_threshold(GARBAGE_ALLOCATIONS, 20, 100)
    began = monotonic(), process_time()
    tally = run_seeds(plan, heard)
    raise typer.Exit(_tell(plan, tally, (monotonic() - began[0], process_time() - began[1]), output))


def _tell(plan: "Plan", tally: "Tally", took_s: tuple[float, float], output: Output) -> int:
    from penstock.sim.run import describe

    elapsed_s, processor_s = took_s
    simulated_s = tally.simulated_us / US_PER_S
    factor = simulated_s / elapsed_s
    if output is Output.TABLE:
        by_processor = f"{simulated_s / processor_s:.1f} by processor time"
        say(f"{simulated_s:.0f} simulated seconds in {elapsed_s:.1f}: {factor:.1f} times real time, {by_processor}")
        return describe(plan, tally, sys.stdout.write)
    facts = {"seeds": len(plan.seeds), "nodes": plan.nodes, "simulated_s": simulated_s, "elapsed_s": elapsed_s}
    facts["processor_s"] = processor_s
    failed = None if tally.failed is None else {"seed": tally.failed.seed, "failure": repr(tally.failed.failure)}
    print_json(facts | {"factor": factor, "failed": failed, "counts": dict(sorted(tally.counts.items()))})
    return describe(plan, tally, sys.stderr.write)


def _seeds(text: str) -> range:
    from penstock.sim.run import parse_seeds

    try:
        seeds = parse_seeds(text)
    except ValueError:
        raise Misused(f"{text!r} is not a seed", "give a number, or a range such as 0-99") from None
    if not seeds:
        raise Misused(f"{text!r} has no seed in it", "give the smaller number first, as in 0-99")
    return seeds


def _storm(path: Path, nodes: int) -> str:
    """The text of a storm that machines of such a number can be in."""
    from penstock.sim.cluster_spec import parse_happenings
    from penstock.sim.storm import BadStorm

    if nodes == 1:
        raise Misused("a storm needs several machines", "add --nodes 3")
    try:
        text = path.read_text()
        faults, _ = parse_happenings(text)
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}") from None
    except BadStorm as error:
        raise Refused(str(error), "a line is, for example: at 10 s cut 1-2 for 3 s") from None
    strangers = [fault for fault in faults if max(fault.one, fault.other or 0) > nodes or fault.one == 0 == fault.other]
    if strangers:
        raise Refused(f"there are {nodes} machines: {strangers[0]}")
    return text
