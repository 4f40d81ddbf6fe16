"""What is advertised is what is served, and the page about it is current."""

from __future__ import annotations

import sys
from pathlib import Path

from penstock.core.apis import table as apis_table
from penstock.core.apis.document import table
from penstock.core.apis.table import load_apis
from penstock.core.node.serving.access import CLUSTER_ACTION
from penstock.core.node.serving.api import Runs
from penstock.core.wire.api_table import APIS
from penstock.core.wire.schema import Struct

ROOT = Path(__file__).parents[2]


def test_the_page_is_current() -> None:
    assert (ROOT / "docs/compatibility/apis.md").read_text() == table()


def test_every_api_file_is_in_the_table() -> None:
    """A handler that is written but not listed would be served by nobody."""
    folder = Path(apis_table.__file__).parent
    written = {path.stem for path in folder.glob("*.py") if "\nAPI = " in path.read_text()}
    assert written == {APIS[key].module for key in load_apis()}


def test_keys_are_unique_and_known() -> None:
    apis = load_apis()
    for key, api in apis.items():
        assert APIS[key].name == api.name
        assert "penstock.core.wire.api." + APIS[key].module in sys.modules


def test_an_api_is_one_complete_value() -> None:
    for api in load_apis().values():
        assert api.runs is not Runs.CONTROLLER or api.decide is not None
        assert not (api.is_forwarded and APIS[api.key].on_brokers is False), f"{api.name} is asked of controllers only"
        for touched in api.touches:
            assert not touched.at or path_exists(api.request, touched.at), f"{api.name}: {touched}"


def path_exists(kind: type[Struct], path: str) -> bool:
    name, _, rest = path.partition(".")
    field = next((each for each in kind.SPEC.fields if each.name == name), None)
    inner = None if field is None or field.element is None else field.element.struct
    return field is not None and (not rest or (inner is not None and path_exists(inner.python_class, rest)))


def test_what_kafka_lets_pass_in_an_envelope_is_forwarded() -> None:
    """Topics, partitions, rules, tokens, settings, users, features, voters."""
    assert {key for key, api in load_apis().items() if api.is_forwarded} == {
        *(19, 20, 30, 31, 33, 37, 38, 39, 40, 43, 44, 45, 46, 49, 51, 55, 57, 64, 80, 81)
    }


def test_only_nodes_may_speak_as_nodes() -> None:
    internal = {api.name for api in load_apis().values() if api.touches == CLUSTER_ACTION}
    assert internal == {
        *("Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "FetchSnapshot", "UpdateRaftVoter", "AlterPartition"),
        *("Envelope", "BrokerRegistration", "BrokerHeartbeat", "AllocateProducerIds", "ControllerRegistration"),
        "AssignReplicasToDirs",
        *("InitializeShareGroupState", "ReadShareGroupState", "WriteShareGroupState", "DeleteShareGroupState"),
        "ReadShareGroupStateSummary",
    }
