"""Nodes that encrypt what they say to each other, and ask who it is; clients come over a listener of their own."""

from __future__ import annotations

from penstock.tls.authority import issue, new_authority
from tests.chaos.place import Place
from tests.conformance.security.nodes import plain

_NODE = plain("node", "a secret of the nodes")
SECURE = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,NODES:SASL_SSL,CONTROLLER:SASL_SSL",
    "inter.broker.listener.name": "NODES",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.mechanism.controller.protocol": "PLAIN",
    "listener.name.nodes.plain.sasl.jaas.config": _NODE,
    "listener.name.controller.plain.sasl.jaas.config": _NODE,
    "ssl.keystore.type": "PEM",
    "ssl.truststore.type": "PEM",
    # Sessions end during the faults.
    "connections.max.reauth.ms": "3000",
}


def secured(place: Place, nodes: int) -> dict[int, dict[str, str]]:
    """What the settings of each node are beside those of a plain cluster."""
    authority = new_authority("authority of the nodes")
    trusted = place.root / "ca.pem"
    trusted.write_text(authority.certificate)
    found = {}
    for number in range(1, nodes + 1):
        host, client, controller = place.address(number)
        own = issue(authority, f"node-{number}", (host,))
        store = place.root / f"node-{number}.pem"
        store.write_text(own.key + own.certificate)
        found[number] = {
            **SECURE,
            "listeners": f"PLAINTEXT://{host}:{client},NODES://{host}:0,CONTROLLER://{host}:{controller}",
            "ssl.keystore.location": str(store),
            "ssl.truststore.location": str(trusted),
        }
    return found
