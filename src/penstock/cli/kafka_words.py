"""Words of Apache Kafka's own tools, or of others', typed from habit, for what is called something else here."""

import re

_OPTIONS = {
    "--broker-list": "brokers are named with --bootstrap",
    "--from-beginning": "--from earliest says it, and is the default",
    "--max-messages": "--count says it",
    "--offset": "--from OFFSET says it",
    "--topic": "the topic is named without an option",
}
_COMMANDS = {
    "start": "`penstock up` starts a cluster, and `penstock node` one node",
    "stop": "`penstock down` stops a cluster; ctrl-c ends `penstock up`",
    "topics": "`penstock topic list` lists them",
    "groups": "`penstock group list` lists them",
    "transactions": "`penstock txn list` lists them",
    "quotas": "`penstock quota list` lists them",
    "acls": "`penstock acl list` lists them",
    "perf": "`penstock bench` measures",
}
_NO_OPTION = re.compile(r"No such option: (-\S+)")
_NO_COMMAND = re.compile(r"No such command '([^']*)'\.")


def instead_of(option: str | None) -> str | None:
    """How somebody says here what the option says there."""
    return _OPTIONS.get(option or "")


def other_command(message: str) -> tuple[str, str] | None:
    """What to say to somebody who has called a command that there is not: the parser would guess by its letters."""
    found = _NO_COMMAND.search(message)
    hint = _COMMANDS.get(found[1]) if found else None
    return None if found is None or hint is None else (found[0], hint)


def option_before_command(message: str) -> str | None:
    """What to say to somebody who has written an option where only commands stand."""
    found = _NO_OPTION.match(message)
    return f"options of a command stand behind it: `penstock COMMAND {found[1]} ...`" if found else None
