"""`penstock produce` and `penstock consume` on a running node: what goes in comes out."""

import json
import subprocess
import sys
from pathlib import Path
from zlib import crc32

import pytest

from tests.cli.running import KEPT, TIMEOUT_S, Shell, Up, command
from tests.kafka_peer import KafkaPeer


def lines(text: str) -> list[str]:
    return text.splitlines()


def test_lines_go_in_and_come_out(penstock: Shell) -> None:
    written = penstock("produce", "hello", stdin=b"one\ntwo\r\n\nthree")
    assert (written.code, written.out) == (0, "")
    assert "4 records written to hello (partition 0: offsets 0 to 3)" in written.err
    read = penstock("consume", "hello")
    assert (read.code, read.out, read.err) == (0, "one\ntwo\n\nthree\n", "")


def test_bytes_that_are_not_text_pass_unchanged(penstock: Shell, tmp_path: Path) -> None:
    blob = tmp_path / "blob"
    blob.write_bytes(bytes(range(256)) * 10)
    assert penstock("produce", "binary", blob, "--whole").code == 0
    (record,) = [json.loads(line) for line in lines(penstock("consume", "binary", "-o", "json").out)]
    assert record["value_base64"]
    again = penstock("produce", "binary-copy", "--input", "json", stdin=json.dumps(record).encode())
    assert again.code == 0
    (copy,) = [json.loads(line) for line in lines(penstock("consume", "binary-copy", "-o", "json").out)]
    assert copy["value_base64"] == record["value_base64"]


def test_keys_headers_codec_and_template(penstock: Shell) -> None:
    penstock("topic", "create", "keyed", "--partitions", "3")
    options = ("--key-separator", "\\t", "--header", "source=test", "--codec", "zstd")
    assert penstock("produce", "keyed", *options, stdin=b"a\t1\nb\t2\nc\t3\nb\t4\n").code == 0
    read = penstock("consume", "keyed", "--format", "{key}={value} {headers}")
    assert sorted(lines(read.out)) == ["a=1 source=test", "b=2 source=test", "b=4 source=test", "c=3 source=test"]
    places = penstock("consume", "keyed", "--format", "{key} {partition}")
    assert len({line for line in lines(places.out) if line.startswith("b")}) == 1


def test_json_out_can_be_produced_again(penstock: Shell) -> None:
    penstock("produce", "first", "--key", "k", "--header", "h=1", stdin="grüße\n".encode())
    out = penstock("consume", "first", "--output", "json").out
    assert penstock("produce", "second", "--input", "json", stdin=out.encode()).code == 0
    before, after = json.loads(out), json.loads(penstock("consume", "second", "--output", "json").out)
    assert {**before, "topic": "second"} == after
    assert after["value"] == "grüße"


def test_a_tombstone_is_null_in_json_and_goes_back_in(penstock: Shell) -> None:
    assert penstock("produce", "tombs", "--input", "json", stdin=b'{"key": "k", "value": null}').code == 0
    assert json.loads(penstock("consume", "tombs", "-o", "json").out)["value"] is None
    assert penstock("consume", "tombs").out == "null\n"


def test_where_to_begin(penstock: Shell) -> None:
    records = "\n".join(json.dumps({"value": str(n), "timestamp": 1_700_000_000_000 + n * 1000}) for n in range(10))
    assert penstock("topic", "create", "when", *KEPT).code == 0
    assert penstock("produce", "when", "--input", "json", stdin=records.encode()).code == 0

    def read(from_: str, *more: str) -> list[str]:
        return lines(penstock("consume", "when", "--from", from_, *more).out)

    assert read("earliest") == [str(n) for n in range(10)]
    assert read("7") == ["7", "8", "9"]
    assert read("10") == []
    assert read("-3") == ["7", "8", "9"]
    assert read("-300") == [str(n) for n in range(10)]
    assert read("latest") == []
    assert read("@1700000006500") == ["7", "8", "9"]
    assert read("2023-11-14T22:13:28+00:00") == ["8", "9"]
    assert read("1s") == []
    assert read("3", "--count", "2") == ["3", "4"]
    assert read("earliest", "--count", "0") == []


def test_offsets_that_do_not_exist_are_named_with_those_that_do(penstock: Shell) -> None:
    penstock("produce", "short", stdin=b"only\n")
    beyond = penstock("consume", "short", "--from", "17")
    assert beyond.code == 1
    assert "0 to 0" in beyond.err
    assert penstock("consume", "short", "--from", "yesterday").code == 2


def test_one_partition_only(penstock: Shell) -> None:
    penstock("topic", "create", "parts", "--partitions", "2")
    penstock("produce", "parts", "--partition", "0", stdin=b"zero\n")
    penstock("produce", "parts", "--partition", "1", stdin=b"one\n")
    assert penstock("consume", "parts", "--partition", "1").out == "one\n"
    missing = penstock("consume", "parts", "--partition", "5")
    assert missing.code == 1
    assert "0 to 1" in missing.err
    assert penstock("produce", "parts", "--partition", "5", stdin=b"x\n").code == 1


def test_merge_makes_one_order_of_many_partitions(penstock: Shell) -> None:
    penstock("topic", "create", "merged", "--partitions", "3")
    for n in (8, 1, 5, 3, 9, 2, 7):
        record = json.dumps({"value": str(n), "timestamp": 1000 + n}).encode()
        penstock("produce", "merged", "--input", "json", "--partition", str(n % 3), stdin=record)
    read = lines(penstock("consume", "merged", "--merge", "--format", "{partition}:{value}").out)
    by_log = {p: [line for line in read if line.startswith(f"{p}:")] for p in "012"}
    assert by_log == {"0": ["0:3", "0:9"], "1": ["1:1", "1:7"], "2": ["2:8", "2:5", "2:2"]}
    assert [line[2:] for line in read] == ["1", "3", "7", "8", "5", "2", "9"]


def test_several_topics_at_once(penstock: Shell) -> None:
    penstock("produce", "left", stdin=b"l\n")
    penstock("produce", "right", stdin=b"r\n")
    read = penstock("consume", "left", "right", "--format", "{topic} {value}")
    assert sorted(lines(read.out)) == ["left l", "right r"]


def test_files_are_read_one_after_the_other(penstock: Shell, tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_bytes(b"1\n2\n")
    second.write_bytes(b"3")
    assert penstock("produce", "files", first, second).code == 0
    assert penstock("consume", "files").out == "1\n2\n3\n"
    missing = penstock("produce", "files", tmp_path / "nope")
    assert missing.code == 1
    assert "nope" in missing.err


def test_what_was_written_where_in_json(penstock: Shell) -> None:
    written = penstock("produce", "counted", "-o", "json", stdin=b"a\nb\n")
    assert json.loads(written.out) == {
        "topic": "counted",
        "records": 2,
        "partitions": [{"partition": 0, "first_offset": 0, "last_offset": 1, "records": 2}],
    }


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_kind_of_acknowledgement(penstock: Shell, acks: str) -> None:
    topic = f"acks-{acks}"
    penstock("topic", "create", topic)
    assert penstock("produce", topic, "--acks", acks, stdin=b"x\n").code == 0
    assert penstock("consume", topic, "--follow", "--count", "1").out == "x\n"


def test_a_line_without_the_separator_is_named(penstock: Shell) -> None:
    bad = penstock("produce", "separated", "--key-separator", ":", stdin=b"a:1\nno separator here\n")
    assert bad.code == 1
    assert "no separator here" in bad.err


def test_what_is_no_json_is_named(penstock: Shell) -> None:
    bad = penstock("produce", "jsons", "--input", "json", stdin=b"{oops\n")
    assert bad.code == 1
    assert "{oops" in bad.err


def test_a_topic_that_is_not_there(penstock: Shell) -> None:
    missing = penstock("consume", "nowhere")
    assert missing.code == 1
    assert "UNKNOWN_TOPIC_OR_PARTITION" in missing.err
    assert "penstock topic create" in missing.err


def test_formats_that_make_no_sense(penstock: Shell) -> None:
    penstock("produce", "formats", stdin=b"x\n")
    unknown = penstock("consume", "formats", "--format", "{nonsense}")
    assert unknown.code == 2
    assert "{value}" in unknown.err
    assert penstock("consume", "formats", "--format", "{value}", "--output", "json").code == 2


def test_a_reader_that_has_seen_enough_is_no_failure(penstock: Shell) -> None:
    penstock("produce", "piped", stdin=b"a line that is printed\n" * 50_000)
    consume = subprocess.Popen(command("consume", "piped"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert consume.stdout is not None
    assert consume.stdout.readline() == b"a line that is printed\n"
    consume.stdout.close()
    assert consume.stderr is not None
    with consume.stderr:
        assert consume.stderr.read() == b""
    assert consume.wait(TIMEOUT_S) == 0


@pytest.mark.parametrize(
    "line",
    [
        '{"value": "x", "timestamp": "soon"}',
        '{"value": "x", "timestamp": 9223372036854775808}',
        '{"value": "x", "timestamp": true}',
        '{"value": "x", "headers": [{"key": 5}]}',
        "[1]",
        "nonsense",
    ],
)
def test_what_stands_before_a_wrong_line_is_sent(penstock: Shell, line: str) -> None:
    topic = f"wrong-{crc32(line.encode())}"
    refused = penstock("produce", topic, "--input", "json", stdin=f'{{"value": "good"}}\n{line}\n'.encode())
    assert refused.code == 1
    assert "is not a record" in refused.err
    assert penstock("consume", topic).out == "good\n"


def test_who_cuts_a_table_off_is_no_failure(cluster: Up | KafkaPeer) -> None:
    for words in ("topic list", "topic list --output json", "cluster info"):
        piped = f'"$0" -m penstock.cli.main {words} --bootstrap {cluster.bootstrap} | true; exit ${{PIPESTATUS[0]}}'
        ended = subprocess.run(["bash", "-c", piped, sys.executable], capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stderr) == (0, "")
