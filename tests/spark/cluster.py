"""A real standalone Spark cluster on loopback: a master and workers, each a process of its own."""

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import pyspark

from tests.kafka_peer import free_ports
from tests.spark.environment import QUICK_JAVA, WORKER_PATH
from tests.waiting import wait_until

LOOPBACK = "127.0.0.1"
START_S_MAX = 60.0
STOP_S_MAX = 15.0
WORKERS = 2
WORKER_MEMORY = "1g"
SPARK_HOME = Path(pyspark.__file__).parent
CLASSES = "org.apache.spark.deploy"
QUICK_PROCESSES = {"JAVA_TOOL_OPTIONS": QUICK_JAVA}


class StandaloneCluster:
    """Use as a context manager; `master` is what `--master` wants. Everything it writes is removed at the end."""

    def __init__(self, workers: int = WORKERS) -> None:
        self._workers = workers
        self._cleanup = ExitStack()
        self._folder = Path(tempfile.mkdtemp(prefix="penstock-spark-"))
        self._port, *self._web_ports = free_ports(2 + workers)

    def __enter__(self) -> Self:
        self._cleanup.callback(shutil.rmtree, self._folder, ignore_errors=True)
        try:
            self._start_master()
            for number in range(1, self._workers + 1):
                self._start_worker(number)
            self._wait_for("master", "Registering worker", self._workers)
        except BaseException:
            self._cleanup.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cleanup.close()

    @property
    def master(self) -> str:
        return f"spark://{LOOPBACK}:{self._port}"

    def output(self, name: str) -> str:
        """What `master`, `worker-1` or another process has printed so far."""
        return (self._folder / f"{name}.out").read_text(errors="replace")

    def _start_master(self) -> None:
        web_port = str(self._web_ports[0])
        self._start("master", "master.Master", "--host", LOOPBACK, "--port", str(self._port), "--webui-port", web_port)
        self._wait_for("master", "I have been elected leader")

    def _start_worker(self, number: int) -> None:
        resources = ("--cores", "1", "--memory", WORKER_MEMORY)
        place = ("--host", LOOPBACK, "--webui-port", str(self._web_ports[number]))
        scratch = ("--work-dir", str(self._folder / f"work-{number}"))
        self._start(f"worker-{number}", "worker.Worker", *resources, *place, *scratch, self.master)

    def _start(self, name: str, class_name: str, *arguments: str) -> None:
        command = [str(SPARK_HOME / "bin" / "spark-class"), f"{CLASSES}.{class_name}", *arguments]
        with (self._folder / f"{name}.out").open("wb") as output:
            # The script replaces itself by the JVM, so this process is the master or the worker.
            process = subprocess.Popen(command, cwd=self._folder, env=self._environment(), stdout=output, stderr=output)
        self._cleanup.callback(_stop, process)

    def _environment(self) -> dict[str, str]:
        ours = {
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_DAEMON_MEMORY": "256m",
            # Short lives are better spent than on compiling well; the executors inherit this.
            **QUICK_PROCESSES,
            # The submission server listens on a fixed port, which two clusters would fight for.
            "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
            "SPARK_LOCAL_DIRS": str(self._folder),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join(WORKER_PATH),
        }
        return os.environ | ours

    def _wait_for(self, name: str, words: str, times: int = 1) -> None:
        wait_until(lambda: self.output(name).count(words) >= times, timeout_s=START_S_MAX, what=f"{words!r} of {name}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_S_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
