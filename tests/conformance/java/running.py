"""Running a tool against the node: what it prints, with its complaints on failure."""

from pathlib import Path

from penstock.testing import Broker
from tests.kafka_peer import Tool, java_tool


def run(broker: Broker, tool: Tool, *args: str | Path, input: str | None = None) -> str:
    """The output of a tool that must succeed; bookkeeping of the client on its error output is let pass."""
    done = java_tool(tool, "--bootstrap-server", broker.bootstrap, *args, input=input)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Exception" not in done.stderr, done.stderr
    return done.stdout


def run_failing(broker: Broker, tool: Tool, *args: str | Path) -> str:
    """What a tool says that must fail, or that says so in words alone."""
    done = java_tool(tool, "--bootstrap-server", broker.bootstrap, *args)
    return done.stdout + done.stderr
