"""The parts without a cluster: sessions, attempts, ways in, figures, pages of lists."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from penstock.client.errors import ClientError
from penstock.services.console.cluster import Cluster
from penstock.services.console.logging_in import FAILURES_MAX, FAILURES_PER_HOST_MAX, FORGIVEN_SECONDS, Attempts, way_of
from penstock.services.console.mistakes import Mistake
from penstock.services.console.paging import page_of
from penstock.services.console.rendering import UNKNOWN, ago, count, moment, size
from penstock.services.console.sampling import Sampler
from penstock.services.console.sessions import AGE_SECONDS_MAX, IDLE_SECONDS_MAX, SESSIONS_MAX, Session, Sessions
from tests.cli.running import run_process


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(way_of("127.0.0.1:1", {}).client, ThreadPoolExecutor(1))


def begin(sessions: Sessions, cluster: Cluster) -> Session:
    return sessions.begin("ann", False, cluster, Sampler(cluster))


def test_a_session_ends_when_nobody_comes(clock: Clock, cluster: Cluster) -> None:
    sessions, ended = Sessions(clock), []
    sessions.on_end = ended.append
    session = begin(sessions, cluster)
    clock.now = IDLE_SECONDS_MAX - 1
    assert sessions.find(session.id) is session
    clock.now += IDLE_SECONDS_MAX + 1
    assert sessions.find(session.id) is None
    assert ended == [session]


def test_and_when_it_is_old(clock: Clock, cluster: Cluster) -> None:
    sessions = Sessions(clock)
    session = begin(sessions, cluster)
    while clock.now < AGE_SECONDS_MAX:
        assert sessions.find(session.id) is session
        clock.now += IDLE_SECONDS_MAX / 2
    clock.now += 1
    sessions.sweep()
    assert sessions.all() == []


def test_there_are_only_so_many(clock: Clock, cluster: Cluster) -> None:
    sessions = Sessions(clock)
    first = begin(sessions, cluster)
    for _ in range(SESSIONS_MAX):
        begin(sessions, cluster)
    assert len(sessions.all()) == SESSIONS_MAX
    assert sessions.find(first.id) is None
    assert sessions.find("") is None


def test_whoever_guesses_waits_and_then_may_again(clock: Clock) -> None:
    attempts = Attempts(clock)
    for _ in range(FAILURES_MAX):
        attempts.check("ann", "host")
        attempts.failed("ann", "host")
    with pytest.raises(Mistake):
        attempts.check("ann", "host")
    attempts.check("bob", "host")
    attempts.check("ann", "another")
    for number in range(FAILURES_PER_HOST_MAX):
        attempts.failed(f"user-{number}", "host")
    with pytest.raises(Mistake):
        attempts.check("bob", "host")
    clock.now = FORGIVEN_SECONDS
    attempts.check("ann", "host")


def test_passwords_are_never_sent_as_they_are_over_an_open_line() -> None:
    open_line = way_of("b", {"security.protocol": "SASL_PLAINTEXT"})
    assert open_line.mechanisms == ("SCRAM-SHA-512", "SCRAM-SHA-256")
    asked_for = way_of("b", {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"})
    assert asked_for.mechanisms[0] == "PLAIN", "whoever runs the console says so"
    assert way_of("b", {"security.protocol": "SASL_SSL"}).mechanisms[-1] == "PLAIN"
    assert not way_of("b", {"security.protocol": "SSL"}).asks
    assert not way_of("b", {}).asks


def test_what_the_settings_get_wrong_is_said() -> None:
    with pytest.raises(ClientError):
        way_of("b", {"security.protocol": "SSH"})


def test_pages_of_a_list() -> None:
    assert page_of([], 1) == ([], 1, 1, 0)
    assert page_of(range(101), 3, 50) == (range(100, 101), 3, 3, 101)
    assert page_of(range(100), 3, 50).number == 2
    assert page_of(range(100), -1, 50).items == range(50)


def test_figures() -> None:
    assert [size(each) for each in (None, 0, 1023, 1024, 150 << 20)] == [UNKNOWN, "0 B", "1023 B", "1.0 KiB", "150 MiB"]
    assert count(1234567) == "1\u202f234\u202f567"
    assert moment(0) == "1970-01-01 00:00:00.000Z"
    assert moment(-1) == moment(None) == moment(1e300) == UNKNOWN
    assert ago(1e12) == "0 s ago"
    assert ago(0).endswith(" d ago")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--host", "0.0.0.0"), "listens on loopback only"),
        (("--host", "192.0.2.1"), "listens on loopback only"),
        (("--host", "192.0.2.1", "--command-config", "sasl"), "serve HTTPS"),
        (("--host", "0.0.0.0", "--command-config", "sasl", "--tls-cert", "x"), "--advertised-host"),
        (("-b", "b://x"), "is not an address"),
        (("--port", "0", "--tls-cert", "missing.pem"), "certificate cannot be used"),
    ],
)
def test_what_cannot_be_served_says_so(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    (tmp_path / "sasl").write_text("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n")
    done = run_process("console", *(str(tmp_path / word) if word == "sasl" else word for word in words))
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
