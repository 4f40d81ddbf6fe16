"""Settings: every key of Kafka 4.3 with type, default, bounds and a sentence, and what Penstock does with it.

`tables` declares the keys, `standings` says which act, `registry` joins both. `BrokerSettings` and `TopicSettings` are
what the rest of the system reads; `describe` is what clients are told; `check_file` is what a person is told.
"""

from penstock.core.base.settings.broker import BrokerSettings, Layers, validate_dynamic
from penstock.core.base.settings.check import Checked, check_file
from penstock.core.base.settings.describe import (
    Described,
    Origin,
    Source,
    describe,
    describe_broker,
    describe_cluster_default,
    describe_group,
    describe_topic,
)
from penstock.core.base.settings.group import validate_group_overrides
from penstock.core.base.settings.key import (
    REQUIRED,
    Dynamic,
    Importance,
    Key,
    Kind,
    Password,
    Scope,
    SettingError,
    Standing,
    Synonym,
    Validator,
)
from penstock.core.base.settings.listeners import Listeners
from penstock.core.base.settings.properties import parse_properties
from penstock.core.base.settings.registry import BROKER_KEYS, GROUP_KEYS, TOPIC_KEYS
from penstock.core.base.settings.rules import ip_limits
from penstock.core.base.settings.topic import TopicSettings, validate_topic_overrides
from penstock.core.base.settings.values import format_value, parse_value

__all__ = [
    "BROKER_KEYS",
    "GROUP_KEYS",
    "REQUIRED",
    "TOPIC_KEYS",
    "BrokerSettings",
    "Checked",
    "Described",
    "Dynamic",
    "Importance",
    "Key",
    "Kind",
    "Layers",
    "Listeners",
    "Origin",
    "Password",
    "Scope",
    "SettingError",
    "Source",
    "Standing",
    "Synonym",
    "TopicSettings",
    "Validator",
    "check_file",
    "describe",
    "describe_broker",
    "describe_cluster_default",
    "describe_group",
    "describe_topic",
    "format_value",
    "ip_limits",
    "parse_properties",
    "parse_value",
    "validate_dynamic",
    "validate_group_overrides",
    "validate_topic_overrides",
]
