"""What a node's roles ask of its other settings: who must know the quorum how, and which listeners belong to whom."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from penstock.core.base.settings.listeners import Listeners, controller_protocols

Values = Mapping[str, Any]
Broken = Iterator[tuple[str, str]]

BROKER: Final = "broker"
CONTROLLER: Final = "controller"
_NAMES: Final = "controller.listener.names"


def quorum_rules(values: Values) -> Broken:
    """Which settings about the quorum a node of these roles must have, and which it must not."""
    roles, node_id = set(values["process.roles"]), values["node.id"]
    voters = [int(voter.partition("@")[0]) for voter in values["controller.quorum.voters"]]
    if len(set(voters)) < len(voters):
        yield "controller.quorum.voters", "each voter must have an id of its own"
    if len(roles) == 1 and not voters and not values["controller.quorum.bootstrap.servers"]:
        yield (
            "controller.quorum.bootstrap.servers",
            "a node that is not broker and controller at once must be told where the controllers are: "
            "set controller.quorum.bootstrap.servers, or controller.quorum.voters where the set of them is fixed",
        )
    if CONTROLLER not in roles:
        yield from _of_brokers(values, node_id, voters)
    elif voters and node_id not in voters:
        yield (
            "controller.quorum.voters",
            f"the set of voters must include the id {node_id} of this controller, not only {voters}; "
            "leave it out to find the quorum with controller.quorum.bootstrap.servers",
        )


def _of_brokers(values: Values, node_id: int, voters: Collection[int]) -> Broken:
    if node_id in voters:
        yield (
            "controller.quorum.voters",
            f"the set of voters must not include the id {node_id} of a node that is a broker only: "
            "give it another node.id, or add controller to process.roles",
        )
    if values["controller.quorum.auto.join.enable"]:
        yield (
            "controller.quorum.auto.join.enable",
            "only a controller can join the quorum: set it to false, or add controller to process.roles",
        )


def listener_rules(values: Values, given: Collection[str], listeners: Listeners) -> Broken:
    """Which listeners a node of these roles must have, and which it must not."""
    roles = set(values["process.roles"])
    if CONTROLLER in roles:
        yield from _controllers_listen(values, listeners)
    else:
        yield from _brokers_do_not(values, given, listeners)
    if BROKER in roles:
        yield from _inter_broker(values, given, listeners)
        yield from _advertised(listeners)
    else:
        yield from _controllers_only(values, listeners)
    for endpoint in (*listeners.advertised, *listeners.advertised_controller):
        if endpoint.host == "0.0.0.0":
            yield (
                "advertised.listeners",
                "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address.",
            )


def _controllers_listen(values: Values, listeners: Listeners) -> Broken:
    opened = {endpoint.name for endpoint in listeners.controller}
    missing = [name for name in values["controller.listener.names"] if name.upper() not in opened]
    if missing:
        yield (
            "controller.listener.names",
            "controller.listener.names must only contain values appearing in the 'listeners' configuration: "
            f"there is no {', '.join(missing)}",
        )


def _brokers_do_not(values: Values, given: Collection[str], listeners: Listeners) -> Broken:
    if listeners.controller:
        names = ", ".join(endpoint.name for endpoint in listeners.controller)
        yield (
            "controller.listener.names",
            f"a broker has no controller listener: take {names} out of listeners, or add controller to process.roles",
        )
    protocols = controller_protocols(values, "listener.security.protocol.map" in given)
    for name, protocol in protocols.items():
        if protocol is None:
            yield (
                "listener.security.protocol.map",
                f"there is no security protocol for the controllers' listener {name}; add {name}:PLAINTEXT",
            )


def _controllers_only(values: Values, listeners: Listeners) -> Broken:
    if listeners.broker:
        names = ", ".join(endpoint.name for endpoint in listeners.broker)
        yield (
            "listeners",
            f"a node that is a controller only has no listener for clients: take {names} out of listeners, "
            "name it in controller.listener.names, or add broker to process.roles",
        )
    inter_broker = values["inter.broker.listener.name"]
    if inter_broker is not None and inter_broker.upper() in {name.upper() for name in values[_NAMES]}:
        yield (
            "inter.broker.listener.name",
            f"{inter_broker} is a listener of controllers: leave inter.broker.listener.name out here",
        )


def _inter_broker(values: Values, given: Collection[str], listeners: Listeners) -> Broken:
    inter_broker = values["inter.broker.listener.name"]
    valid = [endpoint.name for endpoint in listeners.advertised]
    if inter_broker is None:
        protocol = values["security.inter.broker.protocol"]
        if "security.inter.broker.protocol" in given and protocol not in valid:
            yield (
                "security.inter.broker.protocol",
                f"there is no advertised listener {protocol}; the valid options are {','.join(valid)}: "
                "name one in inter.broker.listener.name",
            )
        return
    if "security.inter.broker.protocol" in given:
        yield (
            "inter.broker.listener.name",
            "Only one of inter.broker.listener.name and security.inter.broker.protocol should be set.",
        )
    if inter_broker.upper() not in valid:
        yield (
            "inter.broker.listener.name",
            "inter.broker.listener.name must be a listener name defined in advertised.listeners. "
            f"The valid options based on currently configured listeners are {','.join(valid)}",
        )


def _advertised(listeners: Listeners) -> Broken:
    if not listeners.advertised:
        yield (
            "advertised.listeners",
            "There must be at least one broker advertised listener. "
            "Perhaps all listeners appear in controller.listener.names?",
        )
    opened = {endpoint.name for endpoint in listeners.broker}
    for endpoint in listeners.advertised:
        if endpoint.name not in opened:
            yield (
                "advertised.listeners",
                "advertised.listeners listener names must be equal to or a subset of the ones defined in listeners: "
                f"there is no {endpoint.name}",
            )
