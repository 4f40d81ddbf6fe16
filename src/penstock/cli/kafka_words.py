"""Options of Apache Kafka's own tools, typed from habit, that are called something else here."""

_HERE = {
    "--broker-list": "brokers are named with --bootstrap",
    "--from-beginning": "--from earliest says it, and is the default",
    "--max-messages": "--count says it",
    "--offset": "--from OFFSET says it",
    "--topic": "the topic is named without an option",
}


def instead_of(option: str | None) -> str | None:
    """How somebody says here what the option says there."""
    return _HERE.get(option or "")
