"""The folder of a local cluster: where each node keeps its things, and who is at work in it.

DIR/pid                          the `penstock up` that holds the folder
DIR/log                          what it and its nodes say, if it is in the background; log.1 is from the time before
DIR/security/                    keys and passwords, if it is a secure one (`cli.securing`)
DIR/node-1/                      the node's data
DIR/node-1/pid                   its process, held by the node itself however it was started
DIR/node-1/server.properties     its settings
DIR/node-4/up.pid                the `penstock up --join` above a node that has joined
DIR/node-4/decommissioned        it is no longer part of its cluster, and not started again
"""

import os
import re
import shutil
import tempfile
from contextlib import suppress

from penstock.cli.pidfile import PidFile
from penstock.cli.plain import DATA_DIR
from penstock.cli.talk import Refused, advice, not_text

_NODE = re.compile(r"node-([1-9][0-9]*)")
LOG = "log"
OLD_LOG = "log.1"
SECURITY = "security"
_OWN_FILES = frozenset({"pid", LOG, OLD_LOG, SECURITY})
FORMER = "decommissioned"
_WHY_FORMER = (
    "`penstock cluster decommission` took this node out of its cluster. Without this file it starts as a new one.\n"
)


class NodeFolder:
    """What belongs to one node of a local cluster."""

    def __init__(self, path: str, number: int) -> None:
        self.path = path
        self.number = number
        self.settings_path = os.path.join(path, "server.properties")
        self.pid_file = PidFile(os.path.join(path, "pid"))
        # Who looks after a node that has joined: an `up` of its own, or the one that holds the whole folder.
        self.up_file = PidFile(os.path.join(path, "up.pid"))

    @property
    def start_command(self) -> str:
        """How a person starts it by itself."""
        return f"penstock node --config {self.settings_path}"

    def text(self) -> str:
        """Its settings; nothing where there are none yet."""
        try:
            with open(self.settings_path, encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""
        except UnicodeDecodeError:
            raise not_text(self.settings_path) from None

    def write_settings(self, text: str) -> None:
        os.makedirs(self.path, exist_ok=True)
        with open(self.settings_path, "w", encoding="utf-8") as file:
            file.write(text)

    @property
    def is_former(self) -> bool:
        """Whether it was decommissioned."""
        return is_former(self.path)

    def make_former(self) -> None:
        """It is not to come back by itself, with another start of all that is in the folder."""
        with open(os.path.join(self.path, FORMER), "w", encoding="utf-8") as file:
            file.write(_WHY_FORMER)

    def runner(self) -> int | None:
        """The process that runs this node or is about to, if there is one."""
        return self.pid_file.holder() or self.up_file.holder()


def is_former(path: str) -> bool:
    """Whether the node of a data folder was decommissioned."""
    return os.path.exists(os.path.join(path, FORMER))


class ClusterFolder:
    """A local cluster's folder, whether it exists yet or not."""

    def __init__(self, path: str) -> None:
        self.shown = path
        self.path = os.path.abspath(path)
        self.pid_file = PidFile(os.path.join(self.path, "pid"))
        self._made: list[str] = []

    @classmethod
    def temporary(cls) -> "ClusterFolder":
        """A new one that nobody else can look into, where the system keeps what is not to last."""
        folder = cls(tempfile.mkdtemp(prefix="penstock-"))
        folder._made.append(folder.path)
        return folder

    @property
    def security_path(self) -> str:
        """Where a secure cluster has its keys; the folder is there in no other."""
        return os.path.join(self.path, SECURITY)

    @property
    def is_secure(self) -> bool:
        return os.path.exists(self.security_path)

    @property
    def log_path(self) -> str:
        return os.path.join(self.path, LOG)

    def command(self, name: str) -> str:
        """How a person runs a command on this folder."""
        return f"penstock {name}" if self.shown == DATA_DIR else f"penstock {name} --data-dir {self.shown}"

    def node(self, number: int) -> NodeFolder:
        return NodeFolder(os.path.join(self.path, f"node-{number}"), number)

    def nodes(self) -> list[NodeFolder]:
        """The nodes that have been started here before, in order."""
        numbers = sorted(int(match[1]) for name in self._names() if (match := _NODE.fullmatch(name)))
        return [self.node(number) for number in numbers]

    def create(self) -> None:
        """Make the folder and those above it, unless somebody else's things are in it."""
        self.refuse_strangers()
        path = self.path
        while not os.path.exists(path):
            self._made.append(path)
            path = os.path.dirname(path)
        try:
            os.makedirs(self.path, exist_ok=True)
        except OSError as failure:
            hint = advice(failure) or "choose another one with --data-dir"
            raise Refused(f"cannot make the folder {self.shown}: {failure.strerror}", hint) from None

    def empty(self) -> None:
        """Delete all that a cluster has in it. Who holds it goes on to hold it; when it is taken back, it is gone."""
        for node in self.nodes():
            shutil.rmtree(node.path)
        shutil.rmtree(self.security_path, ignore_errors=True)
        for name in (LOG, OLD_LOG):
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(self.path, name))
        if self.path not in self._made:
            self._made.insert(0, self.path)

    def take_back(self) -> None:
        """Remove the folders that `create` made, as long as nothing has been put into them."""
        for path in self._made:
            try:
                os.rmdir(path)
            except OSError:
                return

    def refuse_strangers(self) -> None:
        """A folder that holds anything but a cluster is never written to, nor deleted."""
        strangers = [name for name in self._names() if name not in _OWN_FILES and not _NODE.fullmatch(name)]
        if strangers:
            raise Refused(
                f"{self.shown} holds other things than a cluster ({strangers[0]})",
                "choose an empty or a new folder with --data-dir",
            )

    def require(self) -> list[NodeFolder]:
        """The nodes of a folder that must hold a cluster."""
        nodes = self.nodes()
        if not nodes:
            hint = "name its folder with --data-dir, or start one: penstock up"
            raise Refused(f"there is no cluster in {self.shown}", hint)
        return nodes

    def _names(self) -> list[str]:
        try:
            return sorted(os.listdir(self.path))
        except FileNotFoundError:
            return []
        except NotADirectoryError:
            raise Refused(f"{self.shown} is not a folder", "choose another one with --data-dir") from None
