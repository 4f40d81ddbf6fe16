"""AlterConfigs (33). Versions 0 to 2: replace all settings of a resource; what is not named becomes its default."""

from __future__ import annotations

from penstock.core.apis.places import by_controller
from penstock.core.apis.rights import of_settings
from penstock.core.metadata.config_requests import plan_replacements
from penstock.core.node.controller.draining import heeding_drains
from penstock.core.node.controller.plans import Planned
from penstock.core.node.controller.term import Term
from penstock.core.node.serving.access import Operation, on_cluster, on_groups, on_topics
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.alter_configs import AlterConfigsRequest


def plan(term: Term, request: AlterConfigsRequest, version: int) -> Planned:
    return plan_replacements(term.image, term.settings, request)


ALTER = (
    on_topics(Operation.ALTER_CONFIGS, "resources.resource_name")
    + on_groups(Operation.ALTER_CONFIGS, "resources.resource_name")
    + on_cluster(Operation.ALTER_CONFIGS)
)
MAY_ALTER = of_settings(Operation.ALTER_CONFIGS)
API = Api(AlterConfigsRequest, range(3), by_controller(heeding_drains(plan)), ALTER, authorize=MAY_ALTER)
