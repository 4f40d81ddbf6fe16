"""The voters that a folder is formatted with: none, this controller alone, or a list that all nodes are given."""

import re
import time
from typing import NamedTuple

from penstock.cli.formatting import new_id
from penstock.cli.talk import Misused, Refused
from penstock.core.base.endpoints import Endpoint
from penstock.core.base.settings import BrokerSettings
from penstock.core.metadata.storage import StorageError, uuid_bytes, uuid_text
from penstock.core.node.quorum.identity import founding_voters, is_founder
from penstock.core.raft.checkpoint import founding_snapshot
from penstock.core.raft.ids import ReplicaKey
from penstock.core.raft.settings import KRAFT_VERSIONS
from penstock.core.raft.voters import Voter, VoterSet

_VOTER = re.compile(r"([0-9]+)@(\[[^\]]+\]|[^:\[\]]+):([0-9]+):([A-Za-z0-9_-]{22})")
_PORT_MAX = 65_535
_FORM = "each is ID@HOST:PORT:DIRECTORY, with a directory id as `penstock storage random-uuid` prints it"


class Asked(NamedTuple):
    """What was said about the first voters; at most one of these."""

    standalone: bool = False
    initial_controllers: str | None = None
    none: bool = False


class Founding(NamedTuple):
    """The directory id that a folder must get, if one is asked for, and the first snapshot of the metadata."""

    directory_id: str | None
    snapshot: bytes | None


NO_VOTERS = Founding(None, None)


def first_voters(settings: BrokerSettings, asked: Asked) -> Founding:
    """Decide with whom a folder begins, as Kafka's storage tool does."""
    if sum(map(bool, asked)) > 1:
        raise Misused("the options about the first controllers exclude each other", "give one of them")
    if settings["controller.quorum.voters"]:
        return _fixed(asked)
    if asked.initial_controllers is not None:
        return _listed(settings, asked.initial_controllers)
    if asked.none or not settings.is_controller:
        return _added_later(settings, asked)
    if asked.standalone or (settings["controller.quorum.bootstrap.servers"] and is_founder(settings)):
        directory_id = new_id()
        return _founding(directory_id, founding_voters(settings, uuid_bytes(directory_id), None))
    if not is_founder(settings):
        raise Refused(
            "controller.quorum.voters is not set, so nothing says who votes first",
            "give --standalone on the first controller, --initial-controllers with all of the first ones, "
            "or --no-initial-controllers on one that is added to those there are",
        )
    return NO_VOTERS


def _fixed(asked: Asked) -> Founding:
    if asked.standalone or asked.initial_controllers is not None:
        raise Refused(
            "the voters are those of controller.quorum.voters",
            "to keep them in the log, take that setting out and set controller.quorum.bootstrap.servers instead",
        )
    return NO_VOTERS


def _added_later(settings: BrokerSettings, asked: Asked) -> Founding:
    if asked.standalone:
        raise Refused("--standalone is for a controller", "leave it out, or add controller to process.roles")
    if is_founder(settings):
        raise Refused(
            "this controller knows of no other that could add it",
            "name those there are in controller.quorum.bootstrap.servers, or give --standalone",
        )
    return NO_VOTERS


def _listed(settings: BrokerSettings, text: str) -> Founding:
    """A node that is not in the list gets it too, and begins as an observer of those who are."""
    listener: str = settings["controller.listener.names"][0]
    listed = [_parse(part.strip(), listener.upper()) for part in text.split(",")]
    voters = VoterSet(listed)
    if len(voters) < len(listed):
        raise Misused("--initial-controllers names a node twice", _FORM)
    own = voters.get(settings.node_id)
    return _founding(None if own is None else uuid_text(own.key.directory_id), voters)


def _parse(text: str, listener: str) -> Voter:
    match = _VOTER.fullmatch(text)
    if match is None or int(match[3]) > _PORT_MAX:
        raise Misused(f"--initial-controllers: {text!r} is not a controller", _FORM)
    try:
        directory_id = uuid_bytes(match[4])
    except StorageError as failure:
        raise Misused(f"--initial-controllers: {failure}", _FORM) from None
    endpoint = Endpoint(listener, match[2].strip("[]"), int(match[3]))
    return Voter(ReplicaKey(int(match[1]), directory_id), (endpoint,), KRAFT_VERSIONS)


def _founding(directory_id: str | None, voters: VoterSet) -> Founding:
    return Founding(directory_id, founding_snapshot(voters, int(time.time() * 1000)))
