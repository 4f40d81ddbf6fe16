"""The active controller: one term, and what is at work in it. Another term begins with nothing but the log."""

from __future__ import annotations

from penstock.core.metadata.delegation_tokens import TokenIndex
from penstock.core.node.controller.chores import Chores
from penstock.core.node.controller.membership import Membership
from penstock.core.node.controller.opening import opening_records
from penstock.core.node.controller.ports import ControllerContext, Host, Ledger
from penstock.core.node.controller.rebalancing import Rebalancer
from penstock.core.node.controller.term import Term


class ActiveController:
    """What a decision may use: the term, to read the image and to write; and the brokers' sessions."""

    __slots__ = ("membership", "term", "tokens")

    def __init__(self, host: Host, ledger: Ledger, around: ControllerContext) -> None:
        self.term = Term(host, ledger, around)
        opening = opening_records(self.term.image, host.settings, around.bootstrap)
        if opening:
            self.term.commit(opening, lambda code: None)
        self.membership = Membership(self.term)
        self.tokens = TokenIndex()
        # These two set their timers in the term, and nobody asks them anything.
        Chores(self.term)
        Rebalancer(self.term)
