"""ListGroups, versions 0 to 5: which groups pass the request's filters. Version 4 filters by state, 5 by kind."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.wire.api.list_groups import ListedGroup, ListGroupsRequest


def filtered(groups: Iterable[ListedGroup], request: ListGroupsRequest) -> list[ListedGroup]:
    """An empty filter lets everything through."""
    states = {state.strip().lower() for state in request.states_filter}
    kinds = {kind.lower() for kind in request.types_filter}
    return [
        group
        for group in groups
        if (not states or group.group_state.lower() in states) and (not kinds or group.group_type in kinds)
    ]
