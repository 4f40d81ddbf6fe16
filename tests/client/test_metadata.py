"""What a client takes from answers about the cluster."""

from penstock.client.metadata import ClusterView
from penstock.core.wire.api.metadata import MetadataResponse, MetadataResponseTopic


def naming(*names: str) -> MetadataResponse:
    return MetadataResponse(topics=[MetadataResponseTopic(name=name, topic_id=name.encode() * 16) for name in names])


def test_a_whole_answer_ends_what_it_does_not_name() -> None:
    """A broker that had not yet heard of a deletion named the topic; the next answer does not."""
    view = ClusterView()
    view.take(naming("a", "b"), is_whole=True)
    view.take(naming("b"), is_whole=True)
    assert list(view.topics) == ["b"]


def test_an_answer_about_one_topic_leaves_the_others() -> None:
    view = ClusterView()
    view.take(naming("a", "b"), is_whole=True)
    view.take(naming("b"))
    assert sorted(view.topics) == ["a", "b"]
