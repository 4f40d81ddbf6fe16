"""A node with the standard authorizer, and clients of which each is who its address says."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from penstock.core.access.words import CLUSTER_NAME, Operation, PatternType, Permission, Resource
from penstock.core.base.errors import ErrorCode
from penstock.core.base.settings.authorizer_rules import STANDARD_AUTHORIZER
from penstock.core.node.serving.context import Principal
from penstock.core.node.serving.gates import Anonymous, Handshake, Speaker
from penstock.core.wire.api.create_acls import AclCreation, CreateAclsRequest
from penstock.core.wire.api.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from penstock.core.wire.api_table import APIS
from tests.conformance.beside_kafka.side import Side
from tests.node.world import Client, World

KEYS: Final = {api.name: key for key, api in APIS.items()}
SUPER: Final = "root"
SETTINGS: Final = {
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": f"User:{SUPER}",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "unstable.api.versions.enable": "true",
    "transaction.two.phase.commit.enable": "true",
    "offsets.topic.replication.factor": "1",
}


STRANGER: Final = "stranger"


class ByAddress(Anonymous):
    """An authenticator of tests: an address is its principal's name, and of strangers none is known."""

    def principal(self, listener: str, address: str, certified: str | None = None) -> Principal | None:
        return None if address == STRANGER else Principal("User", address)

    def frame_bytes_max(self, listener: str) -> int:
        return 1 << 16

    def begin(self, speaker: Speaker, mechanism: str) -> Handshake:
        return Handshake(ErrorCode.NONE, (mechanism,))


class Town:
    """A node and whoever asks it."""

    def __init__(self, **settings: str) -> None:
        self.world = World({**SETTINGS, **settings})
        self.builder = Side("builder", 0)
        self.let_in()

    def let_in(self) -> None:
        """From now on, and after each restart, it is known who asks."""
        node = self.world.node
        node.gates = node.gates._replace(authenticator=ByAddress())

    def client(self, name: str, listener: str = "PLAINTEXT") -> Client:
        connection = self.world.node.connect(name, 1, listener)
        assert connection is not None
        self.world.clients[connection] = Client(self.world, connection)
        return self.world.clients[connection]

    def ask(self, name: str, api: str, version: int, /, listener: str | None = None, **values: Any) -> Any:
        """What somebody hears to a request made of plain values."""
        client = self.client(name) if listener is None else self.client(name, listener)
        client.send(self.request(api, version, **values), version)
        return self.answer_of(client, f"{api} {version}")

    def answer_of(self, client: Client, what: str) -> Any:
        """To the one request that is under way."""
        self.world.settle()
        for _ in range(200):
            if replies := client.replies():
                return replies[0]
            self.world.pass_time(50)
        raise AssertionError(f"no answer to {what}")

    def request(self, api: str, version: int, /, **values: Any) -> Any:
        module = import_module(f"penstock.core.wire.api.{APIS[KEYS[api]].module}")
        return self.builder.build(getattr(module, f"{api}Request").SPEC, values, version)

    def create(self, *names: str) -> None:
        for name in names:
            topic = {"name": name, "num_partitions": 1, "replication_factor": 1}
            answer = self.ask(SUPER, "CreateTopics", 7, topics=[topic])
            assert not answer.topics[0].error_code
            self.builder.ids[name] = answer.topics[0].topic_id

    def allow(self, *entries: AclCreation) -> None:
        answer = self.client(SUPER).ask(CreateAclsRequest(creations=list(entries)))
        assert not any(each.error_code for each in answer.results), answer

    def revoke(self, principal: str) -> int:
        """Take all rights from somebody; gives how many rules that were."""
        asked = DeleteAclsFilter(
            resource_type_filter=1,
            resource_name_filter=None,
            pattern_type_filter=1,
            principal_filter=f"User:{principal}",
            host_filter=None,
            operation=1,
            permission_type=1,
        )
        answer = self.client(SUPER).ask(DeleteAclsRequest(filters=[asked]))
        return len(answer.filter_results[0].matching_acls)


def entry(
    principal: str,
    text: str,
    permission: Permission = Permission.ALLOW,
    pattern: PatternType = PatternType.LITERAL,
    host: str = "*",
) -> AclCreation:
    """A rule from `WRITE TOPIC t`; the cluster needs no name."""
    operation, resource, *name = text.split()
    return AclCreation(
        resource_type=Resource[resource],
        resource_name=name[0] if name else CLUSTER_NAME,
        resource_pattern_type=pattern,
        principal=f"User:{principal}",
        host=host,
        operation=Operation[operation],
        permission_type=permission,
    )
