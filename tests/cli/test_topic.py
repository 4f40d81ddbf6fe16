"""`penstock topic` on a running node."""

import json

import pytest

from tests.cli.running import KEPT, Shell


def test_a_topic_is_created_listed_described_changed_and_deleted(penstock: Shell) -> None:
    made = penstock("topic", "create", "life", "--partitions", "2", "--config", "retention.ms=5000")
    assert (made.code, made.out) == (0, "")
    assert "topic life is created, partitions: 2" in made.err
    assert any(line.split()[:2] == ["life", "2"] for line in penstock("topic", "list").out.splitlines())
    shown = penstock("topic", "describe", "life")
    assert "retention.ms=5000" in shown.out
    grown = penstock("topic", "alter", "life", "--partitions", "3", "--unset", "retention.ms")
    assert grown.code == 0
    assert "most keys belong to other" in grown.err
    described = json.loads(penstock("topic", "describe", "life", "--output", "json").out)
    assert [partition["partition"] for partition in described["partitions"]] == [0, 1, 2]
    assert described["settings"] == {}
    assert penstock("topic", "delete", "life", "--execute").code == 0
    assert penstock("topic", "describe", "life").code == 1


def test_a_topic_is_deleted_only_when_told_so(penstock: Shell) -> None:
    penstock("topic", "create", "doomed", "--partitions", "2")
    penstock("produce", "doomed", "--partition", "1", stdin=b"x\n")
    shown = penstock("topic", "delete", "doomed")
    assert shown.code == 0
    assert "add --execute" in shown.err
    assert shown.out.splitlines()[-1].split()[:2] == ["doomed", "2"]
    kept = json.loads(penstock("topic", "delete", "doomed", "-o", "json").out)
    assert kept["deleted"] == []
    assert kept["topics"][0]["size"] > 0
    assert penstock("topic", "describe", "doomed").code == 0
    gone = penstock("topic", "delete", "doomed", "--yes", "-o", "json")
    assert json.loads(gone.out)["deleted"] == ["doomed"]
    assert penstock("topic", "describe", "doomed").code == 1


def test_a_list_knows_sizes(penstock: Shell) -> None:
    penstock("produce", "sized", stdin=b"x" * 1000)
    (listed,) = [each for each in json.loads(penstock("topic", "list", "-o", "json").out) if each["topic"] == "sized"]
    assert listed["size"] > 1000


def test_offsets_by_time(penstock: Shell) -> None:
    records = "\n".join(json.dumps({"value": str(n), "timestamp": 1_700_000_000_000 + n * 1000}) for n in range(5))
    penstock("topic", "create", "timed", "--partitions", "2", *KEPT)
    penstock("produce", "timed", "--input", "json", "--partition", "0", stdin=records.encode())

    def found(at: str) -> list[int | None]:
        return [
            each["offset"] for each in json.loads(penstock("topic", "offsets", "timed", "--at", at, "-o", "json").out)
        ]

    assert found("latest") == [5, 0]
    assert found("earliest") == [0, 0]
    assert found("@1700000002500") == [3, None]
    assert found("2023-11-14T22:13:21+00:00") == [1, None]
    assert found("newest") == [4, None]
    assert penstock("topic", "offsets", "timed:1").out.splitlines()[-1].split()[:3] == ["timed", "1", "0"]
    assert penstock("topic", "offsets", "timed", "--at", "whenever").code == 2
    assert penstock("topic", "offsets", "timed:x").code == 2


def test_creation_in_json(penstock: Shell) -> None:
    made = penstock("topic", "create", "as-json", "--partitions", "1", "-o", "json")
    assert json.loads(made.out) == {"topic": "as-json", "created": True, "partitions": 1, "replication_factor": 1}


def test_a_second_creation_fails_unless_that_is_fine(penstock: Shell) -> None:
    assert penstock("topic", "create", "twice").code == 0
    again = penstock("topic", "create", "twice")
    assert again.code == 1
    assert "TOPIC_ALREADY_EXISTS" in again.err
    assert "penstock topic describe" in again.err
    assert penstock("topic", "create", "twice", "--if-not-exists").code == 0


def test_a_dry_run_creates_nothing(penstock: Shell) -> None:
    assert penstock("topic", "create", "thought", "--dry-run").code == 0
    assert "thought" not in penstock("topic", "list").out


def test_refusals_say_what_is_allowed(penstock: Shell) -> None:
    bad_name = penstock("topic", "create", "a b")
    assert bad_name.code == 1
    assert "a-z A-Z 0-9 . _ -" in bad_name.err
    too_many_copies = penstock("topic", "create", "copies", "--replication-factor", "3")
    assert too_many_copies.code == 1
    assert "INVALID_REPLICATION_FACTOR" in too_many_copies.err
    unknown = penstock("topic", "create", "odd", "--config", "no.such.key=1")
    assert unknown.code == 1
    assert "INVALID_CONFIG" in unknown.err


def test_usage_errors_exit_with_2(penstock: Shell) -> None:
    assert penstock("topic", "create", "t", "--config", "nonsense").code == 2
    assert penstock("topic", "alter", "t").code == 2
    assert penstock("topic", "nonsense").code == 2
    assert penstock("topic", "create").code == 2


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (("consume", "t", "--from-beginning"), "--from earliest"),
        (("topic", "describe", "--topic", "t"), "without an option"),
        (("produce", "t", "--broker-list", "h:1"), "--bootstrap"),
    ],
)
def test_who_types_what_kafkas_tools_understand_is_told_the_word_of_ours(
    penstock: Shell, typed: tuple[str, ...], answer: str
) -> None:
    refused = penstock(*typed)
    assert refused.code == 2
    assert answer in refused.err


def test_brokers_may_be_named_as_kafkas_tools_name_them(penstock: Shell) -> None:
    refused = penstock("topic", "list", "--bootstrap-server", "127.0.0.1:1")
    assert refused.code == 1
    assert "127.0.0.1:1" in refused.err


def test_deleting_checks_every_name_first(penstock: Shell) -> None:
    penstock("topic", "create", "stays")
    gone = penstock("topic", "delete", "stays", "never-was", "--execute")
    assert gone.code == 1
    assert "never-was" in gone.err
    assert "stays" in penstock("topic", "list").out


def test_shrinking_is_refused(penstock: Shell) -> None:
    penstock("topic", "create", "wide", "--partitions", "2")
    refused = penstock("topic", "alter", "wide", "--partitions", "1")
    assert refused.code == 1
    assert "can only grow" in refused.err
