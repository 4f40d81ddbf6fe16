"""`penstock config check FILE`."""

from pathlib import Path

from penstock.core.base.settings import Standing, check_file

SHIPPED = (Path(__file__).resolve().parent / "shipped_server.properties").read_text()


def test_the_file_kafka_ships_has_nothing_refused() -> None:
    checked = check_file(SHIPPED)
    assert len(checked) == len(SHIPPED.splitlines())
    assert {line.standing for line in checked} == {Standing.ACTS, Standing.NO_MEANING}
    assert all(bool(line.message) == (line.standing is Standing.NO_MEANING) for line in checked)


def test_each_line_has_its_class_and_its_reason() -> None:
    text = SHIPPED + "\n".join(
        (
            "num.partitions=none",
            "ssl.keystore.password=hunter2",
            "ssl.client.auth=none",
            "log.dirs=/a,/b",
            "log.retention.hour=1",
        )
    )
    lines = {line.name: line for line in check_file(text)}
    assert lines["num.partitions"].message == (
        "Invalid value none for configuration num.partitions: Not a number of type INT"
    )
    password = lines["ssl.keystore.password"]
    assert (password.value, password.standing) == ("[hidden]", Standing.ACTS)
    assert (lines["ssl.client.auth"].standing, lines["ssl.client.auth"].message) == (Standing.ACTS, "")
    assert (lines["log.dirs"].value, lines["log.dirs"].standing) == ("/a,/b", Standing.REFUSED)
    unknown = lines["log.retention.hour"]
    assert (unknown.standing, unknown.message) == (Standing.UNKNOWN, "did you mean log.retention.hours?")


def test_what_is_missing_hides_nothing_that_is_wrong() -> None:
    text = "listeners=nonsense\nadvertised.listeners=A://b:99999\nlog.dirs=/a,/b\nlog.retention.ms=0\n"
    lines = {line.name: line for line in check_file(text)}
    assert {name for name, line in lines.items() if line.is_fatal} == {
        *("listeners", "advertised.listeners", "log.dirs", "log.retention.ms"),
        *("node.id", "process.roles", "controller.listener.names"),
    }
    assert "unable to parse nonsense" in lines["listeners"].message
    assert "unable to parse A://b:99999" in lines["advertised.listeners"].message
    assert lines["log.dirs"].message == "a node has one log directory: give log.dirs one path"


def test_what_is_wrong_with_one_list_of_listeners_hides_nothing_of_the_other() -> None:
    text = (
        "process.roles=broker,controller\nnode.id=1\nlog.dirs=/a\ncontroller.listener.names=CONTROLLER\n"
        "listeners=PLAINTEXT://:9092,CONTROLLER://:9092\nadvertised.listeners=NOBODY://a:1\n"
        "controller.quorum.voters=1@b\n"
    )
    lines = {line.name: line for line in check_file(text)}
    assert "share 9092" in lines["listeners"].message
    assert "no security protocol defined for listener NOBODY" in lines["advertised.listeners"].message
    assert "1@b" in lines["controller.quorum.voters"].message


def test_nothing_is_said_of_what_stands_for_a_value_that_is_none() -> None:
    """A bound between two settings, of which one could not be read."""
    lines = {line.name: line for line in check_file("log.cleaner.min.compaction.lag.ms=x\n")}
    assert lines["log.cleaner.min.compaction.lag.ms"].message.endswith("Not a number of type LONG")


def test_what_is_missing_has_a_line_too() -> None:
    lines = {line.name: line for line in check_file("num.partitions=2")}
    assert lines["node.id"].value == ""
    assert lines["node.id"].message.startswith("Missing required configuration")
