"""Kafka's standard authorizer: the rules of the metadata that this node has, and the super users of its settings."""

from __future__ import annotations

from typing import Protocol

from penstock.core.access.decisions import Decisions
from penstock.core.base.settings import BrokerSettings
from penstock.core.base.settings.authorizer_rules import super_users
from penstock.core.metadata.image import Image
from penstock.core.node.serving.access import Operation, Resource
from penstock.core.node.serving.context import ITSELF, RequestContext
from penstock.core.node.serving.gates import ALLOW_ALL, Authorizer


class RulesHost(Protocol):
    """The node whose metadata has the rules."""

    @property
    def image(self) -> Image: ...

    @property
    def settings(self) -> BrokerSettings: ...

    @property
    def knows_rules(self) -> bool:
        """Whether the image is that of the metadata log, and not the empty one of a node that has not read it yet."""
        ...


class StandardAuthorizer:
    """Whatever the newest image says counts from the moment at which this node has it. Until there is one, there are
    super users."""

    def __init__(self, node: RulesHost) -> None:
        self._node = node
        self._super_users = super_users(node.settings["super.users"]) | {str(ITSELF)}
        self._image: Image | None = None
        self._rules: object = None
        self._decisions = Decisions({}, self._super_users, without_rules=False)
        self._remembered = self._decisions.remembered

    @property
    def edition(self) -> object:
        return self._newest()

    def allows(self, context: RequestContext, operation: Operation, resource: Resource, name: str) -> bool:
        # This is on the way of each record: one look at the image, and one into what was asked before.
        if self._node.image is not self._image:
            self._newest()
        principal, _, address, _, _, _ = context
        answer = self._remembered.get((principal, address, operation, resource, name))
        return self._decisions.allows(principal, address, operation, resource, name) if answer is None else answer

    def allows_some(self, context: RequestContext, operation: Operation, resource: Resource) -> bool:
        return self._newest().allows_some(context.principal, context.address, operation, resource)

    def _newest(self) -> Decisions:
        """What the rules of the newest image say. It may be another image, and its rules be the same ones."""
        node = self._node
        image = node.image
        if image is not self._image and node.knows_rules:
            self._image, rules = image, image.access.rules
            if rules is not self._rules:
                self._rules = rules
                without_rules: bool = node.settings["allow.everyone.if.no.acl.found"]
                self._decisions = Decisions(rules, self._super_users, without_rules)
                self._remembered = self._decisions.remembered
        return self._decisions


def authorizer_of(node: RulesHost) -> Authorizer:
    """The one that a node's settings ask for."""
    return StandardAuthorizer(node) if node.settings["authorizer.class.name"] else ALLOW_ALL
