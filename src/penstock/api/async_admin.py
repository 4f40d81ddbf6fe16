"""`Admin` for asyncio."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from penstock.api.admin import Admin, TopicInfo
from penstock.api.in_thread import InThread


class AsyncAdmin:
    """`Admin` for asyncio; takes the same arguments and has the same methods."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.admin = Admin(*args, **options)
        self._thread = InThread("penstock-async-admin")

    async def create_topic(self, name: str, **options: Any) -> None:
        await self._thread.call(self.admin.create_topic, name, **options)

    async def delete_topic(self, name: str) -> None:
        await self._thread.call(self.admin.delete_topic, name)

    async def describe_topic(self, name: str) -> TopicInfo:
        return await self._thread.call(self.admin.describe_topic, name)

    async def list_topics(self, *, internal: bool = False) -> list[str]:
        return await self._thread.call(self.admin.list_topics, internal=internal)

    async def add_partitions(self, name: str, total: int) -> None:
        await self._thread.call(self.admin.add_partitions, name, total)

    async def topic_config(self, name: str) -> dict[str, str | None]:
        return await self._thread.call(self.admin.topic_config, name)

    async def set_topic_config(self, name: str, config: Mapping[str, object | None]) -> None:
        await self._thread.call(self.admin.set_topic_config, name, config)

    async def list_groups(self) -> list[str]:
        return await self._thread.call(self.admin.list_groups)

    async def delete_group(self, group: str) -> None:
        await self._thread.call(self.admin.delete_group, group)

    async def close(self) -> None:
        self._thread.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
