"""Names of settings as people type them: a broker takes it for done to change what it does not know."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches

from penstock.cli.talk import Refused
from penstock.client.admin import BROKER, TOPIC, Admin

# Of one listener alone: brokers do not list all that there could be.
_PER_LISTENER = "listener.name."


def check_names(admin: Admin, kind: int, resource: str, names: Iterable[str]) -> None:
    """Refuse to change a setting that a topic or a broker does not have."""
    wanted = [name for name in names if not name.startswith(_PER_LISTENER)]
    if not wanted:
        return
    # All brokers together list only what was changed for them.
    example = resource or str(admin.cluster().brokers[0].node_id)
    known = {setting.name for setting in admin.describe_configs(kind, example)}
    for name in wanted:
        if name not in known:
            whose = f"--topic {resource}" if kind == TOPIC else f"--broker {example}"
            raise Refused(
                f"a {_KINDS[kind]} has no setting {name}",
                nearest(name, known) or f"see `penstock config describe {whose} --all`",
            )


def nearest(name: str, known: Collection[str]) -> str | None:
    near = get_close_matches(name, known, 1)
    return f"did you mean {near[0]}?" if near else None


_KINDS = {TOPIC: "topic", BROKER: "broker"}
