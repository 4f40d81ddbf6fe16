"""Settings of each kind of groups whose coordinator assigns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.settings_act.consumer_groups_table import OF_CONSUMER_GROUPS
from tests.settings_act.share_groups_table import OF_SHARE_GROUPS
from tests.settings_act.streams_groups_table import OF_STREAMS_GROUPS
from tests.settings_act.trial import Flip

OF_KINDS_OF_GROUPS: Final[Mapping[str, Flip]] = {**OF_CONSUMER_GROUPS, **OF_SHARE_GROUPS, **OF_STREAMS_GROUPS}
