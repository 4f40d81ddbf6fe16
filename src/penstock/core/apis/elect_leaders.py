"""ElectLeaders (43). Version 1 can ask for unclean elections and says errors for the whole."""

from __future__ import annotations

from penstock.core.apis.forwarded import ask_controller, forwarded
from penstock.core.node.slots import Api
from penstock.core.wire.api.elect_leaders import ElectLeadersRequest

API = Api(ElectLeadersRequest, range(3), forwarded(ask_controller))
