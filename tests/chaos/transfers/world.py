"""A run as a process of its own: `python -m tests.chaos.transfers.world SEED FAULTS [own]`.

With `own` it has been started by `unshare`, in a world of its own, where links and disks can be hurt too.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path

from tests.chaos.cluster import ChaosCluster
from tests.chaos.faults import draw
from tests.chaos.place import Loopback, OwnWorld, Place
from tests.chaos.transfers.run import SETTINGS, Bank
from tests.conformance.transactions.aio import Aiokafka
from tests.conformance.transactions.librdkafka import Librdkafka
from tests.conformance.transactions.outside import running_java

NODES = 3
OWN = "own"


def main() -> int:
    seed, faults = map(int, sys.argv[1:3])
    is_own = OWN in sys.argv[3:]
    with tempfile.TemporaryDirectory(prefix="penstock-chaos-") as folder, ExitStack() as until:
        place: Place = (OwnWorld if is_own else Loopback)(Path(folder), NODES)
        until.enter_context(closing(place))
        cluster = until.enter_context(ChaosCluster(place, NODES, SETTINGS))
        aio = until.enter_context(closing(Aiokafka()))
        libraries = {"java": until.enter_context(running_java()), "librdkafka": Librdkafka(), "aiokafka": aio}
        complaints = Bank(cluster, libraries, seed).play(draw(seed, NODES, faults, has_own_world=is_own))
        print(*complaints, sep="\n")
        if complaints:
            print(cluster.output(), file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
