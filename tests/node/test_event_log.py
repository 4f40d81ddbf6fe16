"""What a node says: a line a fact, repeats counted, and what a change of the metadata means."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.core.base.steps import at_once
from penstock.core.metadata.brokers import BrokerImage
from penstock.core.metadata.fold import Delta
from penstock.core.metadata.image import Image, PartitionImage, TopicImage
from penstock.core.node.deadlines import Deadlines
from penstock.core.node.observing.changes import NAMES_MAX, Watching, changes
from penstock.core.node.observing.event_log import AGAIN_MS, REMEMBERED_MAX, EventLog, Fact
from penstock.core.node.observing.levels import COMPONENTS
from penstock.core.node.observing.metrics import Metrics
from penstock.core.node.quorum.watch import LOST_MS, QuorumWatch
from penstock.shell.event_lines import line

FULL = Fact("error", "disk", "a write failed")


class Said:
    """An event log, its clock, and what it told."""

    def __init__(self) -> None:
        self.deadlines = Deadlines()
        self.texts: list[str] = []
        self.log = EventLog(self.deadlines, lambda fact: self.texts.append(fact.text))

    def pass_time(self, duration_ms: int) -> None:
        self.deadlines.now_ms += duration_ms
        self.deadlines.run_due(self.deadlines.now_ms)


def test_a_fact_that_comes_again_is_counted() -> None:
    said = Said()
    for _ in range(46):
        said.log.say(FULL, "")
    assert said.texts == ["a write failed"]
    said.pass_time(AGAIN_MS)
    assert said.texts[1:] == ["a write failed (said 45 more times)"]
    said.log.say(FULL, "")
    assert len(said.texts) == 2, "it goes on, and is counted on"
    said.pass_time(AGAIN_MS)
    assert said.texts[2:] == ["a write failed (said once more)"]


def test_facts_of_one_kind_are_one_fact_and_those_of_another_part_are_not() -> None:
    said = Said()
    for text in ("a write to one failed", "a write to two failed"):
        said.log.say(Fact("error", "disk", text), "write")
    said.log.say(Fact("error", "network", "a write to three failed"), "write")
    said.log.flush()
    assert said.texts == ["a write to one failed", "a write to three failed", "a write to two failed (said once more)"]


def test_a_fact_is_said_anew_when_it_was_quiet_for_long() -> None:
    said = Said()
    said.log.say(FULL, "")
    said.pass_time(AGAIN_MS)
    said.log.say(FULL, "")
    assert said.texts == ["a write failed"] * 2


def test_the_level_decides_and_memory_is_bounded() -> None:
    said = Said()
    said.log.say(FULL._replace(level="debug"), "")
    assert said.texts == []
    said.log.say(FULL, "")
    said.log.say(FULL, "")
    for number in range(REMEMBERED_MAX):
        said.log.say(FULL._replace(text=str(number)), "")
    assert "a write failed (said once more)" in said.texts, "what is forgotten is summed up"
    said.log.say(FULL, "")
    assert said.texts.count("a write failed") == 2


def test_a_line_has_time_level_node_and_component_and_is_one() -> None:
    fact = Fact("warning", "quorum", "there is\nno quorum")
    assert line(fact, 3, 1_700_000_000.25) == "2023-11-14T22:13:20.250Z WARN  node-3 quorum: there is no quorum"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\x0b", "\x1c", "\x85", "\u2028"])
def test_what_a_line_quotes_cannot_begin_another_one(end: str) -> None:
    fact = Fact("warning", "network", f"a client called{end}2023-11-14T22:13:20.250Z ERROR node-1 disk: full")
    said = line(fact, 3, 1_700_000_000.25)
    assert said.splitlines() == [said]
    assert said.startswith("2023-11-14T22:13:20.250Z WARN  node-3 network: a client called 2023-")


@pytest.mark.parametrize(
    "obeyed", ["\x1b]0;title\x07", "\x1b[2J", "\x9b2J", "\b\b\b", "\x00", "\x7f", "\u202e", "\u2066"]
)
def test_what_a_line_quotes_is_not_obeyed_by_a_terminal(obeyed: str) -> None:
    said = line(Fact("warning", "network", f"a client called {obeyed}"), 3, 1_700_000_000.25)
    assert said.isprintable()
    assert "a client called \\" in said


# Changes of the metadata


def topic_of(*partitions: tuple[int, tuple[int, ...]], name: str = "orders") -> TopicImage:
    """(leader, in-sync set) of each; every partition of another leader or set has another epoch."""
    topic = TopicImage(name, name.encode())
    for index, (leader, isr) in enumerate(partitions):
        epoch = 100 * leader + sum(isr)
        topic.put(index, PartitionImage((1, 2, 3), isr, leader, 1, epoch, (bytes(16),) * 3))
    return topic


def told(before: TopicImage, after: TopicImage, node_id: int, *, controls: bool = False) -> list[str]:
    images = [Image(topics=Image().topics.edit({topic.name: topic})) for topic in (before, after)]
    facts = at_once(changes(*images, Delta(topics={after.name}), Watching(node_id, controls, 0, Metrics())))
    return [fact.text for fact in facts]


def test_leaders_speak_of_who_leaves_and_joins_their_in_sync_sets() -> None:
    before = topic_of((1, (1, 2, 3)), (1, (1, 3)), (2, (1, 2, 3)))
    after = topic_of((1, (1, 2)), (1, (1, 2, 3)), (2, (1, 2)))
    assert told(before, after, 1) == [
        "node 3 left the in-sync set of orders-0",
        "node 2 joined the in-sync set of orders-1",
    ]
    assert told(before, after, 2) == ["node 3 left the in-sync set of orders-2"]
    assert told(before, after, 3) == []


def test_partitions_that_lose_their_leader_share_a_line() -> None:
    count = NAMES_MAX + 3
    before, after = topic_of(*[(2, (1, 2))] * count), topic_of(*[(1, (1,))] * count)
    names = ", ".join(f"orders-{index}" for index in range(NAMES_MAX))
    assert told(before, after, 1) == [
        f"this node leads now, instead of node 2: {names}, and 3 more",
        f"node 2 left the in-sync set of {names}, and 3 more",
    ]


def test_the_controller_names_partitions_that_nobody_leads() -> None:
    before, gone = topic_of((2, (2,)), (1, (1,))), topic_of((-1, (2,)), (1, (1,)))
    assert told(before, gone, 1) == []
    assert told(before, gone, 1, controls=True) == ["nobody leads, because no replica in sync is there: orders-0"]
    assert told(gone, before, 1, controls=True) == ["led again: orders-0"]


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (None, BrokerImage(2, 7, b"", ()), "broker 2 is registered, with epoch 7"),
        (
            BrokerImage(2, 7, b"", ()),
            BrokerImage(2, 7, b"", (), fenced=False),
            "broker 2 is let in: it may lead and be in sync",
        ),
        (BrokerImage(2, 7, b"", ()), None, "broker 2 is unregistered: it does not belong to the cluster any more"),
    ],
)
def test_the_controller_speaks_of_brokers(old: BrokerImage | None, new: BrokerImage | None, text: str) -> None:
    before, after = (Image(brokers={} if each is None else {2: each}) for each in (old, new))
    facts = at_once(changes(before, after, Delta(brokers={2}), Watching(1, True, 0, Metrics())))
    assert facts == [Fact("info", "controller", text)]
    assert at_once(changes(before, after, Delta(brokers={2}), Watching(1, False, 0, Metrics()))) == []


# The quorum


class Watched:
    """A node that hears of a leader, or does not."""

    state = "running"
    heard_leader: int | None = 2
    epoch = 5
    voter_ids = frozenset({1, 2, 3})

    def __init__(self) -> None:
        self.deadlines = Deadlines()
        self.now_ms = self.now_us = 0
        self.said: list[str] = []
        self.metrics = Metrics()
        self.watch = QuorumWatch(self, self)  # type: ignore[arg-type]  # settings and tasks are not asked for
        self.watch.begin()

    def log(self, level: str, component: str, text: str, kind: str = "") -> None:
        self.said.append(text)

    def pass_time(self, duration_ms: int) -> None:
        for _ in range(0, duration_ms, 1_000):
            self.now_ms += 1_000
            self.now_us += 1_000_000
            self.deadlines.now_ms = self.now_ms
            self.deadlines.run_due(self.now_ms)


def test_an_election_is_no_lost_quorum() -> None:
    watched = Watched()
    watched.heard_leader = None
    watched.watch.look()
    watched.pass_time(LOST_MS - 1_000)
    watched.heard_leader, watched.epoch = 3, 6
    watched.watch.look()
    assert watched.said == [
        "node 2 is the controller, elected in epoch 5",
        "node 2 is not heard of as the controller any more: another one must be elected",
        "node 3 is the controller, elected in epoch 6",
    ]


def test_a_quorum_that_is_lost_is_said_once_and_so_is_that_it_is_found() -> None:
    watched = Watched()
    watched.heard_leader = None
    watched.pass_time(LOST_MS + 5_000)
    assert watched.watch.complaint is not None
    watched.heard_leader = 2
    watched.pass_time(2_000)
    assert watched.watch.complaint is None
    assert watched.said[2:] == [
        "there is no quorum: no controller is elected; a majority of the controllers (nodes 1, 2, 3) must run",
        "the quorum is found again, after 8.0 s",
    ]


def test_who_stops_does_not_speak_of_elections() -> None:
    watched = Watched()
    watched.state, watched.heard_leader = "stopping", None
    watched.pass_time(LOST_MS + 1_000)
    assert watched.said == ["node 2 is the controller, elected in epoch 5"]


def test_a_part_of_a_node_has_a_level_of_its_own() -> None:
    deadlines, said = Deadlines(), list[str]()
    log = EventLog(deadlines, lambda fact: said.append(fact.text))

    def say(text: str) -> None:
        for level, component in (("debug", "disk"), ("info", "disk"), ("info", "network")):
            log.say(Fact(level, component, f"{text} {level} {component}"), "")

    say("0")
    log.set_level("disk", "DEBUG")
    assert (log.levels["disk"], log.levels["network"]) == ("DEBUG", "INFO")
    say("1")
    log.set_level("root", "ERROR")
    say("2")
    log.set_level("disk", None)
    assert set(log.levels.values()) == {"ERROR"}
    say("3")
    assert said == [
        "0 info disk",
        "0 info network",
        "1 debug disk",
        "1 info disk",
        "1 info network",
        "2 debug disk",
        "2 info disk",
    ]


def test_every_part_that_says_something_is_a_logger() -> None:
    source = Path(__file__).resolve().parents[2] / "src" / "penstock"
    said = re.compile(r'(?:\.log|Fact|_add)\(\s*"(?:error|warning|info|debug)",\s*"(\w+)"')
    found = {name for path in source.rglob("*.py") for name in said.findall(path.read_text())}
    assert found == set(COMPONENTS)
