"""`commitGroup`: the progress of a query as a consumer group, so that everything that shows lag shows the query's.

Only the checkpoint decides where a query goes on. The group is written, never read, and a commit that fails is no
reason to stop: it is said, and the next one brings the group up to date.
"""

from __future__ import annotations

import logging

from penstock.client.errors import ClientError
from penstock.client.groups import Groups
from penstock.client.metadata import TopicPartition
from penstock.spark.source.finding import Finder
from penstock.spark.source.places import Offsets

_log = logging.getLogger("penstock.spark")


class GroupCommitter:
    """Commits as an outsider does, without being a member; the group must have none."""

    def __init__(self, group: str | None, finder: Finder) -> None:
        self._group = group
        self._finder = finder
        self._committed: dict[TopicPartition, int] = {}
        self._last_tried: Offsets = {}

    def processed(self, offsets: Offsets) -> None:
        """Everything before these offsets is processed. Spark says so again and again while nothing new comes, and one
        failure for each batch is enough."""
        group = self._group
        news = {where: offset for where, offset in offsets.items() if self._committed.get(where) != offset}
        if group is None or not news or offsets == self._last_tried:
            return
        self._last_tried = offsets
        try:
            self._finder.ask_once(lambda client: Groups(client).commit(group, news))
            self._committed.update(news)
        except ClientError as failure:
            _log.warning("the progress of the query was not committed to group %s: %s", group, failure)
