"""AlterUserScramCredentials (51). Version 0: the client salts the password, so that only what it gives is sent."""

from __future__ import annotations

from penstock.core.apis.places import by_plan
from penstock.core.metadata.scram import plan_credentials
from penstock.core.node.controller.plans import Planned
from penstock.core.node.controller.term import Term
from penstock.core.node.serving.access import Operation, on_cluster
from penstock.core.node.serving.api import Api
from penstock.core.wire.api.alter_user_scram_credentials import AlterUserScramCredentialsRequest


def plan(term: Term, request: AlterUserScramCredentialsRequest, version: int) -> Planned:
    return plan_credentials(term.image, request)


API = Api(AlterUserScramCredentialsRequest, range(1), by_plan(plan), on_cluster(Operation.ALTER))
