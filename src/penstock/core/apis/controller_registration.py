"""ControllerRegistration (70), for controllers. Version 0."""

from __future__ import annotations

from penstock.core.apis.forwarded import ask_controller
from penstock.core.node.slots import Api
from penstock.core.wire.api.controller_registration import ControllerRegistrationRequest

API = Api(ControllerRegistrationRequest, range(1), ask_controller)
