"""The membership protocol once more, as naive as it can be: the twin that the real one is held against.

One group. Everything is a list that is searched, every heartbeat moves its own deadline, nothing is indexed, counted or
put off. What must agree is every reply: who gets it, when, and what it says.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

Said = tuple[Any, ...]
"""A reply in short: ("join", code, ...) or ("sync", code, assignment) or ("beat", code) and so on."""


@dataclass
class NaiveMember:
    id: str
    instance: str | None
    session: int
    rebalance: int
    protocols: list[str]
    assignment: str = ""
    new: bool = False
    join: Any = None
    sync: Any = None
    owes_sync: bool = False
    deadline: int | None = None


@dataclass
class NaiveGroup:
    delay: int
    size_max: int
    newcomer_timeout: int
    now: int = 0
    ids_given: int = 0
    state: str = "Empty"
    first: bool = False
    generation: int = 0
    protocol: str | None = None
    leader: str | None = None
    members: list[NaiveMember] = field(default_factory=list)
    pending: list[tuple[str, int]] = field(default_factory=list)
    join_deadline: int | None = None
    sync_deadline: int | None = None
    delay_now: int = 0
    delay_left: int = 0
    newcomers: bool = False
    written: Any = None
    said: list[tuple[Any, Said]] = field(default_factory=list)

    # Requests.

    def join(
        self, who: Any, id: str, instance: str | None, protocols: list[str], session: int, rebalance: int, version: int
    ) -> None:
        member = self.find(id)
        if self.written is None and not id:
            self.written = ("Empty", 0, None, None, [])
        if self.written is None:
            self.say(who, "join", "UNKNOWN_MEMBER_ID", id)
        elif self.is_full(member):
            if member:
                self.throw_out(member)
            self.pending = [each for each in self.pending if each[0] != id]
            self.say(who, "join", "GROUP_MAX_SIZE_REACHED", "")
            self.go_on_if_all_came()
        elif self.state != "Empty" and not any(all(p in m.protocols for m in self.members) for p in protocols):
            self.say(who, "join", "INCONSISTENT_GROUP_PROTOCOL", id)
        elif not id:
            self.join_without_id(who, instance, protocols, session, rebalance, version)
        elif any(each[0] == id for each in self.pending):
            self.pending = [each for each in self.pending if each[0] != id]
            self.enter(who, NaiveMember(id, None, session, rebalance, protocols, new=True))
        elif (refusal := self.refusal(id, instance)) is not None:
            self.say(who, "join", refusal, id)
        else:
            assert member is not None
            self.join_again(who, member, protocols, session, rebalance)

    def join_without_id(
        self, who: Any, instance: str | None, protocols: list[str], session: int, rebalance: int, version: int
    ) -> None:
        self.ids_given += 1
        id = f"{instance or 'c'}-{UUID(int=self.ids_given, version=4)}"
        twins = [each for each in self.members if instance is not None and each.instance == instance]
        if twins:
            self.take_over(who, twins[0], id, protocols, session, rebalance, version)
        elif instance is None and version >= 4:
            self.pending.append((id, self.now + session))
            self.say(who, "join", "MEMBER_ID_REQUIRED", id)
        else:
            self.enter(who, NaiveMember(id, instance, session, rebalance, protocols, new=True))

    def enter(self, who: Any, member: NaiveMember) -> None:
        if self.state == "Preparing" and self.first:
            self.newcomers = True
        if self.leader is None:
            self.leader = member.id
        member.deadline = self.now + self.newcomer_timeout
        member.join = who
        self.members.append(member)
        self.rebalance_or_go_on()

    def join_again(self, who: Any, member: NaiveMember, protocols: list[str], session: int, rebalance: int) -> None:
        same = member.protocols == protocols
        if (self.state == "Completing" and same) or (self.state == "Stable" and same and self.leader != member.id):
            self.say_joined(who, member)
            return
        if member.join is not None:
            self.say(member.join, "join", "REBALANCE_IN_PROGRESS", member.id)
        member.protocols, member.session, member.rebalance, member.join = protocols, session, rebalance, who
        self.rebalance_or_go_on()

    def take_over(
        self, who: Any, member: NaiveMember, id: str, protocols: list[str], session: int, rebalance: int, version: int
    ) -> None:
        if member.join is not None:
            self.say(member.join, "join", "FENCED_INSTANCE_ID", member.id)
        if member.sync is not None:
            self.say(member.sync, "sync", "FENCED_INSTANCE_ID", "")
        old_leader, was_leader = self.leader, self.leader == member.id
        member.id, member.protocols, member.session, member.rebalance = id, protocols, session, rebalance
        member.join = member.sync = None
        member.new = False
        member.deadline = self.now + session
        self.leader = id if was_leader else self.leader
        if self.state == "Stable" and self.vote() == self.protocol:
            self.write()
            if version >= 9:
                self.say_joined(who, member, skip=was_leader)
            else:
                self.say(who, "join", "NONE", id, self.generation, self.protocol, old_leader, [], False)
        else:
            member.join = who
            self.rebalance_or_go_on()

    def sync(self, who: Any, id: str, instance: str | None, generation: int, parts: dict[str, str]) -> None:
        refusal = self.refusal(id, instance)
        if refusal is None and generation != self.generation:
            refusal = "ILLEGAL_GENERATION"
        if refusal is None and self.state == "Preparing":
            refusal = "REBALANCE_IN_PROGRESS"
        member = self.find(id)
        if refusal is not None or member is None:
            self.say(who, "sync", refusal, "")
            return
        member.owes_sync = False
        if self.state == "Stable":
            self.say(who, "sync", "NONE", member.assignment)
            return
        if member.sync is not None:
            self.say(member.sync, "sync", "REBALANCE_IN_PROGRESS", "")
        member.sync = who
        if self.leader == id:
            self.state = "Stable"
            for each in self.members:
                each.assignment = parts.get(each.id, "")
                if each.sync is not None:
                    self.say(each.sync, "sync", "NONE", each.assignment)
                    each.sync = None
                    each.deadline = self.now + each.session
            self.write()

    def beat(self, who: Any, id: str, instance: str | None, generation: int) -> None:
        refusal = self.refusal(id, instance)
        if refusal is None and generation != self.generation:
            refusal = "ILLEGAL_GENERATION"
        member = self.find(id)
        if refusal is None and member is not None:
            member.deadline = self.now + member.session
            refusal = "REBALANCE_IN_PROGRESS" if self.state == "Preparing" else "NONE"
        self.say(who, "beat", refusal)

    def leave(self, who: Any, id: str, instance: str | None) -> None:
        if any(each[0] == id for each in self.pending):
            self.pending = [each for each in self.pending if each[0] != id]
            refusal = None
        else:
            refusal = self.refusal(id, instance)
            member = self.find(id)
            if refusal is None and member is not None:
                self.throw_out(member)
        if refusal is None and self.state != "Empty":
            self.rebalance_or_go_on()
        self.say(who, "leave", refusal or "NONE")

    def restart(self) -> None:
        """Only what was written comes back."""
        for member in self.members:
            if member.join is not None:
                self.say(member.join, "join", "NOT_COORDINATOR", member.id)
            if member.sync is not None:
                self.say(member.sync, "sync", "NOT_COORDINATOR", "")
        self.pending, self.join_deadline, self.sync_deadline, self.first = [], None, None, False
        state: Any = self.written or ("Empty", 0, None, None, [])
        self.state, self.generation, self.protocol, self.leader, self.members = copy.deepcopy(state)
        for member in self.members:
            member.protocols = [str(self.protocol)]
            member.new = member.owes_sync = False
            member.deadline = self.now + member.session

    # Time.

    def wait(self, duration: int) -> None:
        end = self.now + duration
        while due := sorted((at, name, what) for at, name, what in self.deadlines() if at <= end):
            at, _, what = due[0]
            self.now = max(self.now, at)
            self.ring(what)
        self.now = end

    def deadlines(self) -> list[tuple[int, str, tuple[str, str]]]:
        """(when, name to order by, what) of everything that will happen by itself."""
        found = [(m.deadline, ("session", m.id)) for m in self.members]
        found += [(at, ("session", id)) for id, at in self.pending]
        found += [(self.join_deadline, ("join", "")), (self.sync_deadline, ("sync", ""))]
        return [(at, str((what[0], "g", what[1])), what) for at, what in found if at is not None]

    def ring(self, what: tuple[str, str]) -> None:
        kind, id = what
        if kind == "join":
            self.join_deadline = None
            if self.first and self.newcomers and self.delay_left:
                self.newcomers = False
                spent, self.delay_now = self.delay_now, min(self.delay, self.delay_left)
                self.delay_left = max(self.delay_left - spent, 0)
                self.join_deadline = self.now + self.delay_now
            else:
                self.form_generation()
        elif kind == "sync":
            self.sync_deadline = None
            late = [each for each in self.members if each.owes_sync]
            for member in late:
                self.throw_out(member)
            if late:
                self.begin_rebalance()
        else:
            self.end_session(id)

    def end_session(self, id: str) -> None:
        member = self.find(id)
        if member is None:
            self.pending = [each for each in self.pending if each[0] != id]
        else:
            member.deadline = None
            if not member.new and (member.join is not None or member.sync is not None):
                return
            self.throw_out(member)
            if self.state != "Preparing":
                self.begin_rebalance()
                return
        if self.state == "Preparing" and self.all_came():
            self.form_generation()

    # Rules.

    def is_full(self, member: NaiveMember | None) -> bool:
        if self.state == "Empty":
            return False
        if self.state == "Preparing":
            came = [each for each in self.members if each.join is not None]
            return member not in came and len(came) >= self.size_max
        return member is None and len(self.members) >= self.size_max

    def refusal(self, id: str, instance: str | None) -> str | None:
        holders = [each.id for each in self.members if instance is not None and each.instance == instance]
        if instance is not None and holders and holders != [id]:
            return "FENCED_INSTANCE_ID"
        if (instance is not None and not holders) or self.find(id) is None:
            return "UNKNOWN_MEMBER_ID"
        return None

    def rebalance_or_go_on(self) -> None:
        if self.state == "Preparing":
            self.go_on_if_all_came()
        else:
            self.begin_rebalance()

    def begin_rebalance(self) -> None:
        if self.state == "Completing":
            for member in self.members:
                member.assignment = ""
                if member.sync is not None:
                    self.say(member.sync, "sync", "REBALANCE_IN_PROGRESS", "")
                    member.sync = None
                    member.deadline = self.now + member.session
        for member in self.members:
            member.owes_sync = False
        self.sync_deadline = None
        self.first = self.state == "Empty"
        self.state = "Preparing"
        if self.first:
            self.newcomers = False
            self.delay_now = self.delay
            self.delay_left = max(self.longest() - self.delay, 0)
            self.join_deadline = self.now + self.delay
        elif self.all_came():
            self.form_generation()
        else:
            self.join_deadline = self.now + self.longest()

    def go_on_if_all_came(self) -> None:
        if self.state == "Preparing" and not self.first and self.all_came():
            self.form_generation()

    def form_generation(self) -> None:
        self.join_deadline = None
        for member in list(self.members):
            if member.instance is None and member.join is None:
                self.throw_out(member)
        came = [each.id for each in self.members if each.join is not None]
        if self.members and not came:
            self.join_deadline = self.now + self.longest()
            return
        self.generation += 1
        self.first = False
        if not self.members:
            self.state, self.protocol = "Empty", None
            self.write()
            return
        self.state = "Completing"
        self.leader = self.leader if self.leader in came else came[0]
        self.protocol = self.vote()
        for member in self.members:
            if member.join is not None:
                self.say_joined(member.join, member)
            member.join, member.new, member.owes_sync = None, False, True
            member.deadline = self.now + member.session
        self.sync_deadline = self.now + self.longest()

    def throw_out(self, member: NaiveMember) -> None:
        if member.join is not None:
            self.say(member.join, "join", "UNKNOWN_MEMBER_ID", "")
        if member.sync is not None:
            self.say(member.sync, "sync", "UNKNOWN_MEMBER_ID", "")
        self.members.remove(member)
        if self.leader == member.id:
            self.leader = self.members[0].id if self.members else None

    def vote(self) -> str:
        common = [p for p in self.members[0].protocols if all(p in m.protocols for m in self.members)]
        votes = [next(p for p in m.protocols if p in common) for m in self.members]
        return max(votes, key=votes.count)

    def write(self) -> None:
        snapshot = (self.state, self.generation, self.protocol, self.leader, copy.deepcopy(self.members))
        for member in snapshot[4]:
            member.join = member.sync = None
        self.written = snapshot

    def all_came(self) -> bool:
        return all(each.join is not None for each in self.members) and not self.pending

    def longest(self) -> int:
        return max((each.rebalance for each in self.members), default=0)

    def find(self, id: str) -> NaiveMember | None:
        return next((each for each in self.members if each.id == id), None)

    def say(self, who: Any, *what: Any) -> None:
        self.said.append((who, what))

    def say_joined(self, who: Any, member: NaiveMember, skip: bool = False) -> None:
        others = [each.id for each in self.members] if self.leader == member.id else []
        self.say(who, "join", "NONE", member.id, self.generation, self.protocol, self.leader, others, skip)
