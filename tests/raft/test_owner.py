"""What the owner of a Raft tells and asks it besides requests: a refused dial, a lost write, how far it has come."""

from __future__ import annotations

from penstock.core.raft.leader import LeaderState
from penstock.core.raft.member import SOON_MS
from penstock.core.raft.roles import Candidate, Follower, Prospective, Resigned
from penstock.core.wire.api.vote import VoteRequest, VoteResponse
from tests.raft.alone import Alone, batch, fetched, vote_request
from tests.raft.memory import MemoryLog


def following() -> Alone:
    """A follower that has heard from its leader just now."""
    alone = Alone()
    alone.reply(alone.follow(2, 5), fetched(2, 5, records=batch(0, 5, b"a"), high_watermark=1))
    return alone


class TestRefused:
    def test_a_follower_runs_soon_where_nobody_listens_any_more(self) -> None:
        alone = following()
        alone.raft.on_refused("host-2", 9002, alone.now_ms)
        alone.settle()
        alone.pass_time(SOON_MS)
        assert isinstance(alone.raft.role, Prospective)
        assert all(request.topics[0].partitions[0].pre_vote for _, request in alone.sent(VoteRequest))

    def test_and_lets_others_run(self) -> None:
        alone = following()
        asked = vote_request(3, 5, last_epoch=5, last_offset=1, pre_vote=True)
        assert not alone.ask(asked, VoteResponse).topics[0].partitions[0].vote_granted
        alone.raft.on_refused("host-2", 9002, alone.now_ms)
        assert alone.ask(asked, VoteResponse).topics[0].partitions[0].vote_granted

    def test_another_address_says_nothing_of_the_leader(self) -> None:
        alone = following()
        alone.raft.on_refused("host-3", 9003, alone.now_ms)
        alone.settle()
        alone.pass_time(SOON_MS)
        assert isinstance(alone.raft.role, Follower)


class TestLost:
    def test_the_only_voter_goes_on_without_what_was_never_written(self) -> None:
        alone = Alone(1)
        alone.become_leader()
        end_offset = alone.log.end_offset
        alone.raft.append([b"x"], 1, alone.now_ms)
        alone.log.truncate(end_offset)
        alone.raft.on_lost(alone.now_ms)
        alone.settle()
        assert isinstance(alone.raft.role, LeaderState)
        assert alone.raft.append([b"y"], 1, alone.now_ms) == end_offset

    def test_a_leader_without_room_lets_another_lead(self) -> None:
        alone = Alone()
        alone.become_leader()
        end_offset = alone.log.end_offset
        alone.raft.append([b"x"], 1, alone.now_ms)
        alone.log.truncate(end_offset)
        alone.raft.on_lost(alone.now_ms)
        alone.settle()
        assert isinstance(alone.raft.role, Resigned)

    def test_the_only_voter_opens_another_epoch_where_one_has_no_beginning(self) -> None:
        alone = Alone(1)
        alone.become_leader()
        epoch = alone.raft.election.epoch
        alone.log.truncate(0)
        alone.raft.on_lost(alone.now_ms)
        alone.settle()
        assert isinstance(alone.raft.role, LeaderState)
        assert alone.raft.election.epoch > epoch


class TestBlocked:
    def test_a_follower_fetches_again_what_its_log_could_not_take(self) -> None:
        """While a failed write is undone nothing can be appended, and nothing of that is wrong with the leader."""
        alone = Alone()
        send = alone.follow(2, 5)
        alone.log.is_blocked = True
        alone.reply(send, fetched(2, 5, records=batch(0, 5, b"a"), high_watermark=1))
        assert (alone.log.end_offset, alone.raft.high_watermark) == (0, 0), "no more is committed than is here"
        alone.log.is_blocked = False
        send, again = alone.fetch_sent()
        assert again.topics[0].partitions[0].fetch_offset == 0
        alone.reply(send, fetched(2, 5, records=batch(0, 5, b"a"), high_watermark=1))
        assert alone.raft.high_watermark == 1

    def test_a_candidate_opens_no_epoch_that_its_log_cannot_take(self) -> None:
        alone = Alone()
        alone.log.is_blocked = True
        alone.win_votes()
        assert isinstance(alone.raft.role, Candidate)
        assert alone.log.end_offset == 0
        alone.log.is_blocked = False
        alone.raft.on_timer(alone.now_ms)
        assert isinstance(alone.raft.role, LeaderState)
        assert alone.log.end_offset == 1

    def test_a_candidate_that_cannot_write_for_long_lets_others_run(self) -> None:
        alone = Alone()
        alone.log.is_blocked = True
        alone.win_votes()
        alone.pass_time(3_000)
        assert not isinstance(alone.raft.role, Candidate | LeaderState)

    def test_the_only_voter_waits_for_its_log(self) -> None:
        log = MemoryLog()
        log.is_blocked = True
        alone = Alone(1, log=log)
        alone.pass_time(10_000)
        assert isinstance(alone.raft.role, Candidate)
        log.is_blocked = False
        alone.raft.on_timer(alone.now_ms)
        assert isinstance(alone.raft.role, LeaderState)


class TestCaughtUp:
    def test_a_follower_has_all_that_the_leader_says_is_committed(self) -> None:
        alone = Alone()
        assert not alone.raft.is_caught_up
        send = alone.follow(2, 5)
        assert not alone.raft.is_caught_up
        alone.reply(send, fetched(2, 5, records=batch(0, 5, b"a"), high_watermark=2))
        assert not alone.raft.is_caught_up, "one of two is here"
        send, _ = alone.fetch_sent()
        alone.reply(send, fetched(2, 5, records=batch(1, 5, b"b"), high_watermark=2))
        assert alone.raft.is_caught_up

    def test_with_another_leader_that_is_to_be_seen_again(self) -> None:
        alone = following()
        assert alone.raft.is_caught_up
        alone.follow(3, 6)
        assert not alone.raft.is_caught_up

    def test_the_leader_s_address_is_known(self) -> None:
        alone = following()
        assert alone.raft.leader is not None
        assert (alone.raft.leader.host, alone.raft.leader.port) == ("host-2", 9002)
        assert Alone().raft.leader is None

    def test_an_epoch_is_led_before_it_is_known_what_is_committed(self) -> None:
        alone = Alone(1)
        assert alone.raft.led_epoch == alone.raft.leads_epoch == 1
        assert following().raft.led_epoch is None
