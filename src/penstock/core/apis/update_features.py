"""UpdateFeatures (57). Version 1 names directions and can ask without doing, 2 answers for the whole only."""

from __future__ import annotations

from penstock.core.apis.forwarded import ask_controller, forwarded
from penstock.core.node.slots import Api
from penstock.core.wire.api.update_features import UpdateFeaturesRequest

API = Api(UpdateFeaturesRequest, range(3), forwarded(ask_controller))
