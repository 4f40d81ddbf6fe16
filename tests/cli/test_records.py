"""`penstock produce` and `penstock consume` on a running node: what goes in comes out."""

import json
import subprocess
import sys
from pathlib import Path
from zlib import crc32

import pytest

from tests.cli.running import KEPT, TIMEOUT_S, Shell, Up, at_a_terminal, command
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


def test_a_topic_without_records_has_no_offsets(penstock: Shell) -> None:
    penstock("topic", "create", "bare")
    failed = penstock("consume", "bare", "--from", "7")
    assert failed.err.splitlines() == ["penstock: offset 7 does not exist", "  offsets by partition: 0: none"]


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
        "complete": True,
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


@pytest.mark.slow
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
        '{"vlue": "x", "key": "k"}',
        '{"key": "k"}',
        '{"value": "x", "value_base64": "eA=="}',
        '{"value": "x", "value": "y"}',
        '{"value": "x", "headers": [{"key": "h", "vale": "1"}]}',
        '{"value": "x", "headers": [{"key": "h"}]}',
        '{"value": "x", "headers": {"h": "1"}}',
        '{"value": "\\ud800"}',
        '{"value_base64": 5}',
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
    assert f"1 of 1 records that were read are written to {topic} (partition 0: offsets 0 to 0)" in refused.err
    assert len(refused.err.splitlines()) == 3
    assert penstock("consume", topic).out == "good\n"


def test_a_misspelled_field_is_named_with_the_nearest_one(penstock: Shell) -> None:
    assert "did you mean 'value'?" in penstock("produce", "spelled", "--input", "json", stdin=b'{"vlue": "x"}\n').err
    assert '"value": null' in penstock("produce", "spelled", "--input", "json", stdin=b'{"key": "x"}\n').err
    assert penstock("produce", "spelled", "--input", "json", "--key", "k", stdin=b'{"value": "x"}\n').code == 2


def test_a_header_may_come_again(penstock: Shell) -> None:
    headers = ("--header", "a=1", "--header", "b=2", "--header", "a=3")
    assert penstock("produce", "repeated", *headers, stdin=b"x\n").code == 0
    out = penstock("consume", "repeated", "-o", "json").out
    assert [tuple(one.values()) for one in json.loads(out)["headers"]] == [("a", "1"), ("b", "2"), ("a", "3")]
    assert penstock("produce", "repeated", "--input", "json", stdin=out.encode()).code == 0
    assert penstock("consume", "repeated", "--from", "1", "--format", "{headers}").out == "a=1,b=2,a=3\n"


def test_a_produce_that_fails_says_how_much_was_acknowledged(penstock: Shell) -> None:
    topic = "half"
    penstock("topic", "create", topic, "--config", "max.message.bytes=1000")
    lines_in = b"".join(b"%d\n" % n for n in range(3))
    good, large = json.dumps({"value": "x"}), json.dumps({"value": "x" * 2000})
    assert penstock("produce", topic, stdin=lines_in).code == 0
    failed = penstock("produce", topic, "--input", "json", "-o", "json", stdin=f"{good}\nnonsense\n".encode())
    assert failed.code == 1
    told = json.loads(failed.out)
    assert (told["records"], told["complete"]) == (1, False)
    assert (told["partitions"][0]["first_offset"], told["partitions"][0]["last_offset"]) == (3, 3)
    refused = penstock("produce", topic, "--input", "json", stdin=f"{large}\n".encode())
    assert refused.code == 1
    assert f"0 of 1 records that were read are written to {topic}" in refused.err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--to", "3"), "0 1 2"),
        (("--from", "2", "--to", "4"), "2 3"),
        (("--from", "4", "--to", "2"), ""),
        (("--to", "99"), "0 1 2 3 4 5"),
        (("--to", "end"), "0 1 2 3 4 5"),
        (("--to", "-4"), "0 1"),
        (("--to", "@1700000003000"), "0 1 2"),
        (("--from", "@1700000001000", "--to", "2023-11-14T22:13:23+00:00"), "1 2"),
        (("--to", "3", "--follow"), "0 1 2"),
    ],
)
def test_where_to_end(penstock: Shell, options: tuple[str, ...], expected: str) -> None:
    if penstock("topic", "create", "until", *KEPT).code == 0:
        records = "\n".join(json.dumps({"value": str(n), "timestamp": 1_700_000_000_000 + n * 1000}) for n in range(6))
        penstock("produce", "until", "--input", "json", stdin=records.encode())
    assert penstock("consume", "until", *options).out.split() == expected.split()


def test_an_end_that_makes_no_sense(penstock: Shell) -> None:
    penstock("produce", "endless", stdin=b"x\n")
    for options in (("--to", "whenever"), ("--follow", "--to", "end"), ("--group", "g", "--to", "1")):
        refused = penstock("consume", "endless", *options)
        assert (refused.code, refused.out) == (2, "")
        assert "--to" in refused.err


def test_topics_by_a_pattern_and_as_options(penstock: Shell) -> None:
    for name in ("many-a", "many-b", "manyfold"):
        penstock("produce", "-t", name, stdin=name.encode())
    by_pattern = penstock("consume", "--pattern", "many-.*", "many-a", "--format", "{topic}")
    assert sorted(lines(by_pattern.out)) == ["many-a", "many-b"]
    by_option = penstock("consume", "-t", "many-a", "-t", "manyfold", "-p", "0")
    assert sorted(lines(by_option.out)) == ["many-a", "manyfold"]
    assert penstock("consume", "--pattern", "no-such.*").code == 1
    assert penstock("consume", "--pattern", "*").code == 2
    assert penstock("consume").code == 2


def test_bytes_in_hex_and_base64_and_what_is_null(penstock: Shell) -> None:
    assert penstock("produce", "coded", "--input", "hex", "--key-separator", ":", stdin=b"6b:00ff\n").code == 0
    assert penstock("produce", "coded", "--input", "base64", stdin=b"AP8=\n").code == 0
    assert penstock("produce", "coded", "--null", "NULL", "-k", "gone", stdin=b"NULL\n").code == 0
    read = penstock("consume", "coded", "--format", "{key:hex} {value:base64}", "--null", "-")
    assert sorted(lines(read.out)) == ["- AP8=", "676f6e65 -", "6b AP8="]
    bad = penstock("produce", "coded", "--input", "hex", stdin=b"xyz\n")
    assert bad.code == 1
    assert "'xyz'" in bad.err


def test_settings_of_clients_by_kafkas_names(penstock: Shell, tmp_path: Path, cluster: Up | KafkaPeer) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=127.0.0.1:1\nacks=1\nclient.id=somebody\n")
    assert penstock("produce", "tuned", "--config", file, "--property", "compression.type=zstd", stdin=b"x\n").code == 0
    file.write_text("isolation.level=read_committed\nmax.partition.fetch.bytes=1000\nfetch.max.wait.ms=1\n")
    assert penstock("consume", "tuned", "--config", file).out == "x\n"
    member = ("--group", "tuned", "--property", "session.timeout.ms=7000")
    assert penstock("consume", "tuned", "--config", file, *member).out == "x\n"


def test_where_brokers_are_may_stand_in_a_file(
    shell: Shell, tmp_path: Path, cluster: Up | KafkaPeer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PENSTOCK_BOOTSTRAP", raising=False)
    file = tmp_path / "client.properties"
    file.write_text(f"bootstrap.servers={cluster.bootstrap}\n")
    assert shell("produce", "filed", "--config", file, stdin=b"x\n").code == 0
    assert shell("consume", "filed", "--config", file).out == "x\n"
    assert shell("consume", "filed", "--config", file, "--group", "filed").out == "x\n"


@pytest.mark.parametrize(
    ("setting", "answer"),
    [
        ("ack=1", "did you mean acks?"),
        ("acks=2", "all, -1, 0, 1"),
        ("batch.size=0", "from 1"),
        ("interceptor.classes=x", "compression.type"),
        ("security.protocol=SASL_SSL", "Kerberos is not supported"),
        ("isolation.level=read_committed", "no setting that acts here"),
    ],
)
def test_a_client_takes_no_setting_that_does_nothing(penstock: Shell, setting: str, answer: str) -> None:
    refused = penstock("produce", "unset", "--property", setting, stdin=b"x\n")
    assert refused.code == 2
    assert answer in refused.err


@pytest.mark.slow
def test_escape_codes_are_shown_at_a_terminal_and_passed_on_elsewhere(penstock: Shell, cluster: Up | KafkaPeer) -> None:
    evil = "a\x1b[2Jb\x9b31m\tc"
    record = json.dumps({"key": evil, "value": evil, "headers": [{"key": "h", "value": evil}]})
    assert penstock("produce", "evil", "--input", "json", stdin=record.encode()).code == 0
    assert penstock("consume", "evil").out == f"{evil}\n"
    harmless = "a\\x1b[2Jb\\x9b31m\tc"
    for options in ((), ("--format", "{value}"), ("--format", "{key}"), ("--format", "{headers}")):
        seen = at_a_terminal("consume", "evil", *options, bootstrap=cluster.bootstrap)
        assert harmless in seen.expandtabs() or harmless in seen
        assert "\x1b" not in seen
    assert json.loads(penstock("consume", "evil", "-o", "json").out)["value"] == evil
    assert "\x9b" not in penstock("consume", "evil", "-o", "json").out


@pytest.mark.slow
def test_who_cuts_a_table_off_is_no_failure(cluster: Up | KafkaPeer) -> None:
    for words in ("topic list", "topic list --output json", "cluster info"):
        piped = f'"$0" -m penstock.cli.main {words} --bootstrap {cluster.bootstrap} | true; exit ${{PIPESTATUS[0]}}'
        ended = subprocess.run(["bash", "-c", piped, sys.executable], capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stderr) == (0, "")
