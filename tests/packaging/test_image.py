"""The Containerfile that `penstock generate` writes, really built, and a node in it that is nobody special.

No registry of images is asked: the base is made by debootstrap, out of Debian's packages."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from penstock.client.admin import Admin
from penstock.client.blocking import Client
from tests.cli.running import run_process
from tests.monitoring.tools import installed
from tests.packaging.installed import build_wheel
from tests.ports import free_base_port

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

SECONDS_MAX = 900
BASE, IMAGE = "penstock-base", "penstock"
PYTHON = "python3,python3-venv,ca-certificates"
HOSTS = ("/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")
"""How this machine finds packages; a machine that has nothing of its own to say about that has no such file."""


class Buildah:
    """Images in a folder of their own, without a daemon, and containers that are a chroot."""

    def __init__(self, folder: Path) -> None:
        self._where = ("--root", str(folder / "root"), "--runroot", str(folder / "run"), "--storage-driver", "vfs")

    def words(self, command: str, *arguments: str | Path) -> list[str]:
        return ["buildah", *self._where, command, *map(str, arguments)]

    def __call__(self, command: str, *arguments: str | Path, cwd: Path | None = None) -> str:
        done = subprocess.run(
            self.words(command, *arguments), cwd=cwd, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()


@pytest.fixture(scope="module")
def buildah(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Buildah]:
    """With the image built in it."""
    assert os.geteuid() == 0, "debootstrap wants to be root"
    installed("buildah", "debootstrap")
    folder = tmp_path_factory.mktemp("image")
    buildah = Buildah(folder / "storage")
    try:
        make_base(buildah, folder / "base")
        make_image(buildah, folder / "context")
        yield buildah
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make_base(buildah: Buildah, folder: Path) -> None:
    strap = ["debootstrap", "--variant=minbase", f"--include={PYTHON}", "bookworm", str(folder)]
    subprocess.run(strap, check=True, capture_output=True, timeout=SECONDS_MAX)
    container = buildah("from", "scratch")
    buildah("add", container, folder, "/")
    buildah("commit", container, BASE)
    buildah("rm", container)


def make_image(buildah: Buildah, context: Path) -> None:
    build_wheel(context / "dist")
    assert run_process("generate", "containerfile", "--file", context / "Containerfile").returncode == 0
    mounts = [word for path in HOSTS if os.path.exists(path) for word in ("-v", f"{path}:{path}:ro")]
    inside = ("--isolation", "chroot", "--network", "host", *mounts)
    buildah(
        "bud", *inside, "--build-arg", f"BASE=localhost/{BASE}", "-f", "Containerfile", "-t", IMAGE, ".", cwd=context
    )


def test_a_node_in_the_image_is_nobody_special(buildah: Buildah, tmp_path: Path) -> None:
    container = buildah("from", f"localhost/{IMAGE}")

    inside = ("--isolation", "chroot", "--network", "host")

    def run(*command: str) -> str:
        return buildah("run", *inside, container, "--", *command)

    assert run("id", "-u", "-n") == "penstock"
    assert run("id", "-u") == "10001"
    assert run("penstock", "--version").startswith("penstock ")
    touched = buildah.words("run", *inside, container, "--", "touch", "/usr/local/penstock/x")
    assert subprocess.run(touched, capture_output=True, check=False).returncode != 0, "what is installed stays as it is"
    port = free_base_port()
    serve(buildah.words("run", *inside, *settings(tmp_path, port), container), port)


def settings(folder: Path, port: int) -> Sequence[str]:
    folder.chmod(0o755)
    (folder / "server.properties").write_text(
        "process.roles=broker,controller\nnode.id=1\nlog.dirs=/var/lib/penstock\n"
        f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{port + 1}\n"
        f"controller.listener.names=CONTROLLER\ncontroller.quorum.voters=1@127.0.0.1:{port + 1}\n"
    )
    return ("-v", f"{folder}:/etc/penstock:ro")


def serve(run: list[str], port: int) -> None:
    """The command of the image, until it has a topic; then it is stopped as a container is."""
    command = ["penstock", "node", "--config", "/etc/penstock/server.properties"]
    with subprocess.Popen([*run, "--", *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            with Client(f"127.0.0.1:{port}", timeout=60, patient=True) as client:
                Admin(client).create_topic("greetings", 1, 1)
                assert [each.name for each in client.topics()] == ["greetings"]
            (node,) = nodes(process.pid)
            assert uid(node) == 10001
            os.kill(node, signal.SIGTERM)
            assert process.wait(SECONDS_MAX) == 0
        finally:
            if process.poll() is None:
                # Nobody else ends what runs in the container.
                for each in [*nodes(process.pid), process.pid]:
                    os.kill(each, signal.SIGKILL)


def nodes(ancestor: int) -> list[int]:
    """The last ones of the processes below another one: they do what those above them only watch."""
    found, below = [], children(ancestor)
    while below:
        pid = below.pop()
        further = children(pid)
        below += further
        if not further:
            found.append(pid)
    return found


def children(pid: int) -> list[int]:
    """Of all threads: a program in Go starts others from any of them."""
    tasks = (Path("/proc") / str(pid) / "task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def uid(pid: int) -> int:
    return int((Path("/proc") / str(pid) / "status").read_text().partition("Uid:")[2].split()[0])
