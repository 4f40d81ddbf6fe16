"""The image and its maps: a new version shares what did not change and never changes the old one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.metadata.fold import fold
from penstock.core.metadata.image import Image
from penstock.core.metadata.sharded import BUCKETS, ShardedMap
from penstock.core.wire.stored.cluster_metadata import ConfigRecord, PartitionRecord, RemoveTopicRecord, TopicRecord
from tests.node.test_metadata import content

KEYS = st.sampled_from([f"topic-{number}" for number in range(40)])
EDITS = st.lists(st.dictionaries(KEYS, st.none() | st.integers(0, 9), max_size=6), max_size=12)


@given(EDITS)
def test_a_sharded_map_is_a_dictionary_whose_versions_all_stay(edits: list[dict[str, int | None]]) -> None:
    versions: list[tuple[ShardedMap[str, int], dict[str, int]]] = [(ShardedMap(), {})]
    for changes in edits:
        found, model = versions[-1]
        merged = {**model, **changes}
        versions.append((found.edit(changes), {key: value for key, value in merged.items() if value is not None}))
    for found, model in versions:
        assert dict(found.items()) == model
        assert sorted(found) == sorted(model)
        assert sorted(found.values()) == sorted(model.values())
        assert len(found) == len(model)
        for key in [*model, "nobody"]:
            assert found.get(key) == model.get(key)
            assert (key in found) == (key in model)


def test_an_edit_copies_one_bucket() -> None:
    before: ShardedMap[str, int] = ShardedMap[str, int]().edit({f"t{number}": number for number in range(1000)})
    after = before.edit({"t7": 8})
    shared = sum(old is new for old, new in zip(before._buckets, after._buckets, strict=True))
    assert shared == BUCKETS - 1


def records_of(ops: list[tuple[str, int]], live: dict[int, int]) -> list[object]:
    """Some changes to topics by number: create, add a partition, set, remove."""
    records: list[object] = []
    for what, number in ops:
        topic_id = number.to_bytes(16, "big")
        if what == "create" and number not in live:
            records.append(TopicRecord(name=f"t{number}", topic_id=topic_id))
            live[number] = 0
        if what in ("create", "grow") and number in live:
            records.append(
                PartitionRecord(partition_id=live[number], topic_id=topic_id, replicas=[1], isr=[1], leader=1)
            )
            live[number] += 1
        elif what == "set" and number in live:
            records.append(ConfigRecord(resource_type=2, resource_name=f"t{number}", name="retention.ms", value="1"))
        elif what == "remove" and number in live:
            records.append(RemoveTopicRecord(topic_id=topic_id))
            del live[number]
    return records


OPS = st.lists(st.tuples(st.sampled_from(["create", "grow", "set", "remove"]), st.integers(0, 3)), max_size=6)


@given(st.lists(OPS, max_size=8))
def test_folding_changes_no_image_but_the_new_one(turns: list[list[tuple[str, int]]]) -> None:
    live: dict[int, int] = {}
    images, contents, everything = [Image()], [content(Image())], []
    for offset, ops in enumerate(turns):
        records = records_of(ops, live)
        everything += records
        image, _ = fold(images[-1], records, offset)  # type: ignore[arg-type]
        images.append(image)
        contents.append(content(image))
    assert [content(image) for image in images] == contents
    # One fold over all records gives what the folds one by one gave.
    at_once, _ = fold(Image(), everything, 0)  # type: ignore[arg-type]
    assert content(at_once) == contents[-1]
    assert {name: len(topic) for name, topic in at_once.topics.items()} == {f"t{n}": count for n, count in live.items()}
