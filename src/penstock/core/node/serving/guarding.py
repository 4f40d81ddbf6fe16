"""The gates of a node, as its settings and the quotas in its metadata ask for them."""

from __future__ import annotations

from typing import Protocol

from penstock.core.node.serving.authentication import AuthenticationHost, authenticator_of
from penstock.core.node.serving.client_quotas import ClientQuotaManager, QuotaHost, Quotas
from penstock.core.node.serving.gates import OPEN, UNLIMITED, Gates, QuotaManager
from penstock.core.node.serving.standard_authorizer import RulesHost, authorizer_of


class GuardedHost(AuthenticationHost, RulesHost, QuotaHost, Protocol):
    """The node whose gates they are."""


def gates_of(node: GuardedHost) -> Gates:
    """OPEN itself where nobody need ask."""
    return _same_or_open(Gates(authenticator_of(node), authorizer_of(node)))


def holding_to(quotas: Quotas, gates: Gates, node: QuotaHost) -> Gates:
    """Gates that hold clients to these quotas: whoever does so already goes on, and nobody where there are none."""
    manager: QuotaManager = UNLIMITED
    if quotas:
        present = gates.quotas
        manager = present if isinstance(present, ClientQuotaManager) else ClientQuotaManager(node, node.settings)
        manager.update(quotas)
    return _same_or_open(gates._replace(quotas=manager))


def _same_or_open(gates: Gates) -> Gates:
    return OPEN if all(mine is open_ for mine, open_ in zip(gates, OPEN, strict=True)) else gates
