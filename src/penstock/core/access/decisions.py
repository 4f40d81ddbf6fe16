"""What the rules say to a question: Kafka's standard authorizer as a pure function of the rules, with a memory.

A rule applies where its principal, its host, its pattern and its operation do. Where one that denies applies, the
answer is no; else where one that allows applies, it is yes; where none does, no, unless nobody has made any rule
about that resource and the node says that everybody may use those. Super users are asked for no rule.

An answer is remembered as long as the rules are the same ones. So most questions cost one look into a dictionary.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Final

from penstock.core.access.words import EVERYBODY, WILDCARD, Operation, PatternType, Permission, Resource
from penstock.core.wire.stored.cluster_metadata import AccessControlEntryRecord

ByPrincipal = Mapping[str, Mapping[bytes, AccessControlEntryRecord]]
Rules = Mapping[tuple[int, int, str], ByPrincipal]
"""Of each pattern (type of resource, type of pattern, name) the rules of each principal, as the image keeps them."""

LITERAL, PREFIXED = int(PatternType.LITERAL), int(PatternType.PREFIXED)
REMEMBERED_MAX: Final = 50_000
"""Answers; some 10 MB. Whoever asks for ever new names makes us forget, and nothing worse."""

_IMPLIES: Final = {
    Operation.DESCRIBE: frozenset(
        (Operation.DESCRIBE, Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER)
    ),
    Operation.DESCRIBE_CONFIGS: frozenset((Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS)),
}
"""Rights that bring another one; what is denied brings nothing."""
_SOME_NAME: Final = "hardcode"
"""Who may do something with any name may with this one, which is the one that Kafka takes."""

Key = tuple[object, str, Operation, Resource, str | None]


class Decisions:
    """The rules of one image, and what they were asked."""

    def __init__(self, rules: Rules, super_users: frozenset[str], without_rules: bool) -> None:
        """`without_rules` is the answer where no rule is about a resource."""
        self._rules = rules
        self._super_users = super_users
        self._without_rules = without_rules
        self.remembered: dict[Key, bool] = {}
        """The answers so far; whoever is in a hurry looks here first."""

    @cached_property
    def _prefix_lengths(self) -> Mapping[int, Collection[int]]:
        """By type of resource; there are few, so that few prefixes of a name have to be looked up."""
        found: dict[int, set[int]] = {}
        for resource, pattern_type, name in self._rules:
            if pattern_type == PatternType.PREFIXED:
                found.setdefault(resource, set()).add(len(name))
        return found

    def allows(self, principal: object, host: str, operation: Operation, resource: Resource, name: str) -> bool:
        """The principal is whatever has its name in rules as its text."""
        key = (principal, host, operation, resource, name)
        answer = self.remembered.get(key)
        if answer is None:
            answer = self._remember(key, self._decide(str(principal), host, operation, resource, name))
        return answer

    def allows_some(self, principal: object, host: str, operation: Operation, resource: Resource) -> bool:
        """Whether there is a name for which it is allowed."""
        if self.allows(principal, host, operation, resource, _SOME_NAME):
            return True
        key = (principal, host, operation, resource, None)
        answer = self.remembered.get(key)
        if answer is None:
            answer = self._remember(key, self._decide_some(str(principal), host, operation, resource))
        return answer

    def _remember(self, key: Key, answer: bool) -> bool:
        if len(self.remembered) >= REMEMBERED_MAX:
            self.remembered.clear()
        self.remembered[key] = answer
        return answer

    def _decide(self, principal: str, host: str, operation: Operation, resource: Resource, name: str) -> bool:
        if principal in self._super_users:
            return True
        is_allowed, has_rules = False, False
        for by_principal in self._about(resource, name):
            has_rules = True
            for rule in _of(by_principal, principal):
                if _applies(rule, host, operation):
                    if rule.permission_type == Permission.DENY:
                        return False
                    is_allowed = True
        return is_allowed or (self._without_rules and not has_rules)

    def _about(self, resource: Resource, name: str) -> list[ByPrincipal]:
        """The rules whose pattern stands for a name."""
        kind, rules = int(resource), self._rules
        found = [rules.get((kind, LITERAL, WILDCARD))]
        if name != WILDCARD:
            found.append(rules.get((kind, LITERAL, name)))
        for length in self._prefix_lengths.get(kind, ()):
            if length <= len(name):
                found.append(rules.get((kind, PREFIXED, name[:length])))
        return [each for each in found if each is not None]

    def _decide_some(self, principal: str, host: str, operation: Operation, resource: Resource) -> bool:
        """Kafka's answer, which follows from the rules for this very operation: one that allows counts unless one that
        denies has the same name, or a prefix of it."""
        allowed: set[tuple[int, str]] = set()
        denied: set[tuple[int, str]] = set()
        for (kind, pattern_type, pattern), by_principal in self._rules.items():
            if kind == resource:
                for rule in _of(by_principal, principal):
                    if rule.host in (WILDCARD, host) and rule.operation in (operation, Operation.ALL):
                        (denied if rule.permission_type == Permission.DENY else allowed).add((pattern_type, pattern))
        everything = (LITERAL, WILDCARD)
        if everything in denied:
            return False
        return everything in allowed or any(not _is_denied(*pattern, denied) for pattern in allowed)


def _of(by_principal: ByPrincipal, principal: str) -> Iterator[AccessControlEntryRecord]:
    """The rules for a principal; those for everybody are among them."""
    for each in {principal, EVERYBODY}:
        yield from by_principal.get(each, {}).values()


def _applies(rule: AccessControlEntryRecord, host: str, operation: Operation) -> bool:
    if rule.host not in (WILDCARD, host):
        return False
    if rule.operation in (operation, Operation.ALL):
        return True
    return rule.permission_type == Permission.ALLOW and rule.operation in _IMPLIES.get(operation, ())


def _is_denied(pattern_type: int, pattern: str, denied: set[tuple[int, str]]) -> bool:
    if pattern_type == PatternType.LITERAL and (pattern_type, pattern) in denied:
        return True
    return any((PREFIXED, pattern[:length]) in denied for length in range(1, len(pattern) + 1))
