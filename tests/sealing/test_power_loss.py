"""Power loss, as the simulator's disks know it: of what was not synced any sectors may be left, and the rest stays."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.sealing.frames import MAGIC
from penstock.sim.chance import Chance
from penstock.sim.platter import FileNode, Platter
from tests.examples import examples
from tests.sealing.kept import Kept
from tests.sealing.test_sealed_file import text

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 400)),
        st.tuples(st.just("append"), st.integers(1, 150_000)),
        st.tuples(st.just("truncate"), st.integers(0, 100)),
        st.tuples(st.just("sync"), st.just(0)),
    ),
    min_size=1,
    max_size=12,
)


class Sealed(Kept):
    """On a platter, with what is safe of the plain file."""

    def __init__(self) -> None:
        self.platter = Platter()
        self.node: FileNode = self.platter.create("0.log")
        self.platter.sync_directory(self.platter.root, self.platter.change_order)
        super().__init__()
        self.disk = self.node.written
        self.safe = self.plain = b""

    def do(self, what: str, how: int, number: int) -> None:
        if what == "append":
            self.append(text(number, how))
            self.plain += text(number, how)
        elif what == "truncate":
            size = how * len(self.plain) // 100
            self.truncate(size)
            self.plain = self.plain[:size]
            self.safe = self.safe[:size]
        else:
            self.node.synced = bytes(self.disk)
            self.safe = self.plain

    def lose_power(self, seed: int) -> None:
        self.platter.power_loss(Chance(seed))
        self.node = self.platter.file("0.log")
        self.disk = self.node.written
        if not self.disk.startswith(MAGIC[: len(self.disk)]):
            # Its head was never synced. It looks like a plain one without a good batch, and is cut as such.
            assert self.safe == b""
            self.disk.clear()
        self.open()


@given(STEPS, STEPS, st.integers(0, 1 << 32))
@examples(100)
def test_what_was_synced_is_read_whatever_is_left_of_the_rest(
    steps: list[tuple[str, int]], more: list[tuple[str, int]], seed: int
) -> None:
    sealed = Sealed()
    for number, (what, how) in enumerate(steps):
        sealed.do(what, how, number)
    sealed.lose_power(seed)
    safe = sealed.safe
    assert sealed.read()[: len(safe)] == safe
    # A log is cut behind what it knows to be good, and goes on.
    sealed.truncate(len(safe))
    sealed.plain = safe
    sealed.do("sync", 0, 0)
    for number, (what, how) in enumerate(more):
        sealed.do(what, how, 100 + number)
    assert sealed.read() == sealed.plain
    sealed.open()
    assert sealed.read() == sealed.plain
    sealed.lose_power(seed + 1)
    assert sealed.read()[: len(sealed.safe)] == sealed.safe
