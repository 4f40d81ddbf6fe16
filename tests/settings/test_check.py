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
    assert (password.value, password.standing) == ("[hidden]", Standing.REFUSED)
    assert "TLS is not built yet" in password.message
    assert (lines["ssl.client.auth"].standing, lines["ssl.client.auth"].message) == (Standing.REFUSED, "")
    assert (lines["log.dirs"].value, lines["log.dirs"].standing) == ("/a,/b", Standing.REFUSED)
    unknown = lines["log.retention.hour"]
    assert (unknown.standing, unknown.message) == (Standing.UNKNOWN, "did you mean log.retention.hours?")


def test_what_is_missing_has_a_line_too() -> None:
    lines = {line.name: line for line in check_file("num.partitions=2")}
    assert lines["node.id"].value == ""
    assert lines["node.id"].message.startswith("Missing required configuration")
