"""The cluster that a file is compared with, and what all kinds of things in it need to know of it."""

from __future__ import annotations

from functools import cached_property

from penstock.client.admin import BROKER, Admin
from penstock.client.blocking import Client
from penstock.client.registry import RegistryClient
from penstock.client.tenants import tenants
from penstock.core.base.settings.tenants import Tenant


class Scene:
    """One look: who looks again makes another one."""

    def __init__(self, client: Client, registry: RegistryClient | None) -> None:
        self.client = client
        self.admin = Admin(client)
        self.registry = registry

    @cached_property
    def tenants(self) -> tuple[Tenant, ...]:
        """Their users, rules, quotas and topics are theirs, and not to be taken away."""
        return tuple(tenants(self.client))

    @cached_property
    def broker_settings(self) -> dict[str, bool]:
        """The settings that a broker has, and whether they are secret."""
        broker = str(self.admin.cluster().brokers[0].node_id)
        return {each.name: each.is_sensitive for each in self.admin.describe_configs(BROKER, broker)}
