"""`make demo`: a node in a temporary folder, the evening, the verdict; exit code 0 means that nothing was lost."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from examples.node import Node
from examples.orders import topics
from examples.orders.story import audit
from examples.orders.story.evening import ALL_BRANCHES, USUAL_PER_MINUTE, Evening
from examples.orders.story.shop import Shop
from examples.orders.story.view import View
from penstock.client.blocking import Client
from penstock.client.pipeline_runs import Registry

console = Console()


def main() -> int:
    with ExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="penstock-demo-")))
        node = Node(folder / "data")
        cleanup.callback(node.stop)
        took_s = node.start()
        topics.create(node.address)
        shop = cleanup.enter_context(Shop(node.address, USUAL_PER_MINUTE))
        client = cleanup.enter_context(Client(node.address))
        view = cleanup.enter_context(View(console, shop, Registry(client), ALL_BRANCHES))
        view.tell(f"[bold]a node[/] on {node.address}, ready after {took_s:.2f} s; orders come in at once")
        counts = Evening(node.address, folder, shop, view, cleanup).play()
        view.tell("[bold]penstock audit run[/] holds logs and pipelines against each other")
        adds_up = audited(node.address, folder)
    return judge(shop, counts, adds_up)


def audited(address: str, folder: Path) -> bool:
    """What anybody would type who wants to know."""
    command = [sys.executable, "-m", "penstock.cli.main", "audit", "run", "-b", address, "--book", folder / "audit.db"]
    return subprocess.run(command, check=False).returncode == 0


def judge(shop: Shop, counts: list[audit.Count], adds_up: bool) -> int:
    produced = shop.produced
    complete = adds_up and shop.failed == 0 and produced.acknowledged == produced.orders + produced.poison
    complete = complete and all(count.is_complete(produced) for count in counts)
    console.print(audit.table(produced, counts))
    good = (
        f"[green]Every branch has every one of {produced.orders:,} orders, once: nothing was lost and nothing written "
        "twice, for readers that are read_committed.[/]"
    )
    console.print(good if complete else "[red]The counts differ.[/]")
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
