"""The load generator, run as a process, its figures read back as a dictionary."""

import json
import subprocess
from pathlib import Path

from bench.compiling import compiled

SOURCE = Path(__file__).resolve().parent / "loadgen.c"
RUN_MARGIN_S = 60.0

Figures = dict[str, float]
Options = dict[str, str | float]


class LoadFailed(Exception):
    """The broker refused a request, or the generator could not go on."""


def run_load(mode: str, options: Options, flags: tuple[str, ...] = ()) -> Figures:
    """An option's name is the generator's, with underscores: `{"port": 9092, "topic": "t", "warmup_s": 1}`."""
    arguments = [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    limit_s = float(options.get("seconds", 5)) + float(options.get("warmup_s", 1)) + RUN_MARGIN_S
    done = subprocess.run(
        [str(compiled(SOURCE)), mode, *arguments, *flags], capture_output=True, text=True, timeout=limit_s, check=False
    )
    if done.returncode != 0:
        raise LoadFailed(f"{mode} {options}: {done.stdout.strip()} {done.stderr.strip()}")
    figures: Figures = json.loads(done.stdout)
    return figures
