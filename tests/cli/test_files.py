"""Commands that need no cluster: `config check`, `storage`, `--help`, and where nobody answers."""

import json
from pathlib import Path

import pytest

from penstock.core.metadata.storage import decode_meta, uuid_bytes, uuid_text
from penstock.core.raft.history import VoterHistory
from tests.cli.running import Shell

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    file = tmp_path / "server.properties"
    file.write_text(
        "process.roles=broker,controller\nnode.id=4\ncontroller.listener.names=CONTROLLER\n"
        "listeners=PLAINTEXT://127.0.0.1:19092,CONTROLLER://127.0.0.1:19093\n"
        f"controller.quorum.voters=4@127.0.0.1:19093\nlog.dirs={tmp_path}/data\n"
    )
    return file


def test_a_folder_is_formatted_once(shell: Shell, settings: Path, tmp_path: Path) -> None:
    before = shell("storage", "info", "--config", settings)
    assert before.code == 1
    assert "penstock storage format" in before.err
    assert shell("storage", "format", "--config", settings, "--cluster-id", CLUSTER_ID).code == 0
    meta = decode_meta((tmp_path / "data" / "meta.properties").read_bytes())
    assert (meta.version, meta.cluster_id, meta.node_id) == (1, CLUSTER_ID, 4)
    assert len(uuid_bytes(meta.directory_id)) == 16
    again = shell("storage", "format", "--config", settings)
    assert again.code == 1
    assert "--ignore-formatted" in again.err
    assert shell("storage", "format", "--config", settings, "--ignore-formatted").code == 0
    assert decode_meta((tmp_path / "data" / "meta.properties").read_bytes()) == meta
    (shown,) = json.loads(shell("storage", "info", "--config", settings, "-o", "json").out)
    assert shown == {
        "folder": f"{tmp_path}/data",
        "formatted": True,
        "version": 1,
        "cluster_id": CLUSTER_ID,
        "node_id": 4,
        "directory_id": meta.directory_id,
    }


def test_the_folders_of_a_cluster_are_shown(shell: Shell, tmp_path: Path) -> None:
    for number in (1, 2):
        folder = tmp_path / f"node-{number}"
        folder.mkdir()
        (folder / "meta.properties").write_bytes(f"version=1\ncluster.id={CLUSTER_ID}\nnode.id={number}\n".encode())
    shown = json.loads(shell("storage", "info", "--data-dir", tmp_path, "-o", "json").out)
    assert [(each["node_id"], each["cluster_id"]) for each in shown] == [(1, CLUSTER_ID), (2, CLUSTER_ID)]
    nobody = shell("storage", "info", "--data-dir", tmp_path / "elsewhere")
    assert (nobody.code, nobody.err.splitlines()[0]) == (1, f"penstock: there is no cluster in {tmp_path}/elsewhere")


def test_an_id_is_made_up_or_must_be_one(shell: Shell, settings: Path) -> None:
    refused = shell("storage", "format", "--config", settings, "--cluster-id", "mine")
    assert refused.code == 1
    assert "base64" in refused.err
    (made,) = json.loads(shell("storage", "format", "--config", settings, "-o", "json").out)
    assert len(uuid_bytes(made["cluster_id"])) == 16
    other = shell("storage", "format", "--config", settings, "--cluster-id", CLUSTER_ID, "--ignore-formatted")
    assert other.code == 1
    assert made["cluster_id"] in other.err


def test_a_folder_from_the_future_is_refused_in_one_line(shell: Shell, settings: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "meta.properties").write_text(f"version=9\ncluster.id={CLUSTER_ID}\nnode.id=4\n")
    refused = shell("storage", "info", "--config", settings)
    assert refused.code == 1
    assert len(refused.err.splitlines()) == 1


def test_a_settings_file_is_checked_key_by_key(shell: Shell, settings: Path) -> None:
    fine = shell("config", "check", settings)
    assert fine.code == 0
    with settings.open("a") as file:
        file.write("log.retention.hourz=1\nlog.segment.bytes=many\n")
    checked = shell("config", "check", settings, "--output", "json")
    assert checked.code == 1
    by_name = {row["setting"]: row for row in json.loads(checked.out)}
    assert by_name["node.id"]["class"] == "acts"
    assert by_name["log.retention.hourz"]["class"] == "unknown"
    assert "log.retention.hours" in by_name["log.retention.hourz"]["remark"]
    assert "many" in by_name["log.segment.bytes"]["remark"]
    assert "refuses to start" in checked.err
    assert shell("config", "check", settings.parent / "nope").code == 1


def test_nobody_answers(shell: Shell) -> None:
    for command in (("topic", "list"), ("produce", "t"), ("consume", "t"), ("group", "list"), ("cluster", "info")):
        failed = shell(*command, "--bootstrap", "127.0.0.1:1")
        assert failed.code == 1
        assert failed.out == ""
        assert "no broker answers at 127.0.0.1:1" in failed.err
        assert "penstock up" in failed.err


def test_an_address_that_is_none(shell: Shell) -> None:
    for text in ("nonsense:port", "http://127.0.0.1:9092"):
        failed = shell("topic", "list", "--bootstrap", text)
        assert failed.code == 2
        assert f"{text!r} is not an address" in failed.err
        assert "HOST:PORT" in failed.err
    assert "leave out http://" in failed.err


def test_help_and_version(shell: Shell) -> None:
    for command in ("up", "node", "topic", "produce", "consume", "group", "cluster", "storage", "config"):
        assert command in shell("--help").out
        assert shell(command, "--help").code == 0
    assert shell("--version").out.startswith("penstock ")
    assert "--data-dir" in shell("up", "--help").out


@pytest.mark.parametrize(
    "arguments", [("nonsense",), ("up", "--nonsense"), ("up", "--port", "x"), ("status", "-o", "x")]
)
def test_usage_errors_exit_with_2(shell: Shell, arguments: tuple[str, ...]) -> None:
    assert shell(*arguments).code == 2


@pytest.mark.parametrize(
    "words",
    [
        ("nonsense",),
        ("topic", "nonsense"),
        ("topic", "describe"),
        ("topic", "list", "--nonsense"),
        ("topic", "list", "--output", "xml"),
        ("topic", "list", "--timeout", "nan"),
        ("topic", "list", "--timeout", "-1"),
        ("topic", "alter", "t"),
        ("consume", "t", "--timeout", "0"),
        ("consume", "t", "--group", " "),
        ("consume", "t", "--format", "{nonsense}"),
        ("produce", "t", "--key-separator", ""),
        ("up", "--nonsense"),
        ("up", "--port", "many"),
        ("status", "--output", "xml"),
    ],
)
def test_a_wrong_command_is_corrected_in_two_lines(shell: Shell, words: tuple[str, ...]) -> None:
    wrong = shell(*words)
    assert (wrong.code, wrong.out) == (2, "")
    what, how = wrong.err.splitlines()
    assert what.startswith("penstock: ")
    assert "--help`" in how


@pytest.mark.parametrize("words", [("config", "check"), ("node", "--config"), ("storage", "info", "--config")])
@pytest.mark.parametrize("content", [b"key=\\u12", b"\xff\xfe"])
def test_a_settings_file_that_cannot_be_read_is_named(
    shell: Shell, tmp_path: Path, words: tuple[str, ...], content: bytes
) -> None:
    file = tmp_path / "odd.properties"
    file.write_bytes(content)
    refused = shell(*words, file)
    assert (refused.code, refused.out) == (1, "")
    assert str(file) in refused.err.splitlines()[0]


# Who votes first


def dynamic(
    tmp_path: Path, node_id: int = 4, roles: str = "broker,controller", servers: str = "127.0.0.1:19093"
) -> Path:
    """The settings of a node that finds its controllers by their addresses."""
    listeners = {"broker": "PLAINTEXT://127.0.0.1:19092", "controller": "CONTROLLER://127.0.0.1:19093"}
    file = tmp_path / f"{node_id}.properties"
    file.write_text(
        f"process.roles={roles}\nnode.id={node_id}\ncontroller.listener.names=CONTROLLER\n"
        f"listeners={','.join(listeners[role] for role in roles.split(','))}\n"
        f"controller.quorum.bootstrap.servers={servers}\nlog.dirs={tmp_path}/data-{node_id}\n"
    )
    return file


def first_voters(folder: Path) -> dict[int, tuple[str, str, int]] | None:
    """Directory and address of each voter that a folder was formatted with."""
    file = folder / "__cluster_metadata-0" / "00000000000000000000-0000000000.checkpoint"
    if not file.exists():
        return None
    history = VoterHistory()
    history.load_snapshot(0, file.read_bytes())
    assert history.kraft_version == 1
    return {
        voter.key.id: (uuid_text(voter.key.directory_id), voter.endpoints[0].host, voter.endpoints[0].port)
        for voter in history.last
    }


def test_a_first_controller_is_formatted_as_the_only_voter(shell: Shell, tmp_path: Path) -> None:
    file = dynamic(tmp_path, servers="127.0.0.1:19093,elsewhere:19093")
    unsaid = shell("storage", "format", "--config", file)
    assert unsaid.code == 1
    assert "--no-initial-controllers" in unsaid.err
    (made,) = json.loads(shell("storage", "format", "--config", file, "--standalone", "-o", "json").out)
    assert first_voters(tmp_path / "data-4") == {4: (made["directory_id"], "127.0.0.1", 19093)}


def test_a_controller_that_knows_nobody_else_is_the_first(shell: Shell, tmp_path: Path) -> None:
    assert shell("storage", "format", "--config", dynamic(tmp_path)).code == 0
    voters = first_voters(tmp_path / "data-4")
    assert voters is not None
    assert list(voters) == [4]
    refused = shell("storage", "format", "--config", dynamic(tmp_path, 5), "--no-initial-controllers")
    assert refused.code == 1
    assert "knows of no other" in refused.err


def test_several_first_controllers_are_given_the_same_list(shell: Shell, tmp_path: Path) -> None:
    ids = [shell("storage", "random-uuid").out.strip() for _ in range(3)]
    hosts = ("a", "[::1]", "10.0.0.3")
    given = ",".join(f"{number + 4}@{host}:9093:{ids[number]}" for number, host in enumerate(hosts))
    expected = {4: (ids[0], "a", 9093), 5: (ids[1], "::1", 9093), 6: (ids[2], "10.0.0.3", 9093)}
    for node_id in (4, 5, 6):
        made = shell("storage", "format", "--config", dynamic(tmp_path, node_id), "-I", given, "-o", "json")
        assert json.loads(made.out)[0]["directory_id"] == ids[node_id - 4]
        assert first_voters(tmp_path / f"data-{node_id}") == expected


@pytest.mark.parametrize("given", ["4@a:9093", "a@a:9093:{}", "4@a:70000:{}", "4@a:9093:{},4@b:9093:{}", ""])
def test_a_list_of_controllers_that_says_nothing_is_refused(shell: Shell, tmp_path: Path, given: str) -> None:
    text = given.format(*["4L6g3nShT-eMCtK--X86sw"] * 2)
    refused = shell("storage", "format", "--config", dynamic(tmp_path), "--initial-controllers", text)
    assert refused.code == 2
    assert "ID@HOST:PORT:DIRECTORY" in refused.err
    assert not (tmp_path / "data-4").exists()


def test_a_controller_that_comes_later_and_a_broker_bring_no_voters(shell: Shell, tmp_path: Path) -> None:
    later, broker = dynamic(tmp_path, 4, servers="a:1"), dynamic(tmp_path, 5, "broker", "a:1")
    assert shell("storage", "format", "--config", later, "--no-initial-controllers", "-t", CLUSTER_ID).code == 0
    assert shell("storage", "format", "--config", broker, "-t", CLUSTER_ID).code == 0
    assert first_voters(tmp_path / "data-4") is first_voters(tmp_path / "data-5") is None
    refused = shell("storage", "format", "--config", broker, "--standalone", "--ignore-formatted")
    assert "is for a controller" in refused.err


def test_voters_are_either_fixed_or_kept_in_the_log(shell: Shell, settings: Path) -> None:
    refused = shell("storage", "format", "--config", settings, "--standalone")
    assert refused.code == 1
    assert "controller.quorum.bootstrap.servers" in refused.err
    twice = shell("storage", "format", "--config", settings, "--standalone", "--no-initial-controllers")
    assert "exclude each other" in twice.err
