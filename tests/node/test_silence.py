"""Who is silent: followers that do not fetch, by a node that was listening itself."""

from __future__ import annotations

from penstock.core.node.replication.silence import Silence


def listening(limit_ms: int = 1_500, fetch_wait_ms: int = 500) -> Silence:
    silence = Silence()
    silence.configure(limit_ms, fetch_wait_ms)
    return silence


def test_who_does_not_fetch_for_too_long_is_silent() -> None:
    silence = listening()
    silence.heard(2, 0)
    silence.heard(3, 1_000)
    assert silence.silent(1_500) == frozenset()
    assert silence.silent(1_501) == {2}
    silence.heard(2, 1_501)
    assert silence.silent(2_501) == {3}


def test_nobody_is_silent_between_two_fetches_that_wait_for_news() -> None:
    silence = listening(limit_ms=100, fetch_wait_ms=500)
    silence.heard(2, 0)
    assert silence.silent(1_500) == frozenset()
    assert silence.silent(1_501) == {2}


def test_a_leader_is_doubted_for_as_long_as_the_controller_takes_to_replace_it() -> None:
    silence = listening()
    assert (silence.answer_ms, silence.doubt_ms, silence.wire_ms) == (1_000, 2_500, 3_000)


def test_a_node_that_did_not_listen_blames_nobody() -> None:
    silence = listening()
    silence.heard(2, 0)
    silence.forgive(5_000)
    assert silence.silent(6_500) == frozenset()
    assert silence.silent(6_501) == {2}


def test_who_is_waited_for_by_nobody_is_forgotten() -> None:
    silence = listening()
    silence.heard(2, 0)
    silence.forget({2, 9})
    assert silence.silent(10_000) == frozenset()
