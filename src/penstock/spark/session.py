"""`penstock.spark.session()`: a Spark session that starts by itself on a bare machine and leaves nothing behind.

What has to be right before Java starts is decided here: which Java, which interpreter for the workers, addresses on
loopback while everything is on this machine, a folder for the files that Spark otherwise drops where it stands.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from penstock.core.base.errors import PenstockError
from penstock.spark import java
from penstock.spark.archive import Archive, house
from penstock.spark.interpreter import worker_python
from penstock.spark.plain import append_by_default

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL_ALL_CORES: Final = "local[*]"
STANDALONE: Final = "spark://"
_MASTER: Final = re.compile(r"local(\[(\d+|\*)(, *\d+)?\])?|local-cluster\[.*\]|yarn|k8s://.*")
MASTER_ANSWERS_S_MAX: Final = 5.0
WORKERS_DAEMON: Final = "penstock.spark.daemon"
LOOPBACK: Final = "127.0.0.1"
QUIET_LOG: Final = Path(__file__).with_name("log4j2.properties")
INSTALL: Final = "pip install 'penstock[spark]'"


class SparkMissing(PenstockError):
    """A package that the Spark part needs is not installed."""


def session(
    name: str = "penstock",
    *,
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    ui: bool = False,
) -> SparkSession:
    """The session of this process: a new one, or the one that runs already, with what can still be set.

    `master` is anything that Spark takes; without it, the one in `settings` or all cores of this machine. `settings`
    are Spark's and win over everything that is chosen here.
    """
    require_spark()
    from pyspark import SparkContext
    from pyspark.sql import DataFrameWriter, SparkSession

    append_by_default(DataFrameWriter)
    given = dict(settings or {})
    running = SparkSession.getActiveSession()
    if running is not None:
        return _with_settings(running, given)
    where = master or given.get("spark.master") or LOCAL_ALL_CORES
    check_master(where)
    chosen = plan(name, where, ui)
    archive = None
    if SparkContext._gateway is None:
        archive = _prepare_java(chosen)
        _prepare_environment(where)
    builder = SparkSession.builder.master(where)
    for key, value in _merged(chosen, given).items():
        builder = builder.config(key, value)
    try:
        made = builder.getOrCreate()
    except Exception as failure:
        raise _said_plainly(failure, where) from failure
    if archive is not None and archive.is_being_written:
        atexit.register(_end_java, archive)
    return made


def _with_settings(running: SparkSession, given: Mapping[str, str]) -> SparkSession:
    """The session that runs already, with those settings that can still be changed."""
    for key, value in given.items():
        if running.conf.isModifiable(key):
            running.conf.set(key, value)
    return running


def plan(name: str, master: str, ui: bool) -> dict[str, str]:
    """The settings that follow from the arguments alone."""
    chosen = {
        "spark.app.name": name,
        "spark.ui.enabled": str(ui).lower(),
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Between Java and its Python workers. Over TCP each task waits 40 ms, because one side holds back its small
        # message until the other acknowledges the one before, and the other holds back its acknowledgement.
        "spark.python.unix.domain.socket.enabled": "true",
    }
    if is_local(master):
        # 200 shuffle partitions are for clusters; here they would be 200 tiny tasks in each batch.
        chosen["spark.sql.shuffle.partitions"] = str(local_cores(master, os.cpu_count() or 1))
        # On other machines there may be another Penstock, or none.
        chosen["spark.python.daemon.module"] = WORKERS_DAEMON
    if is_local(master) or _is_loopback(master):
        chosen |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    return chosen


def check_master(master: str) -> None:
    """Refuse what is no master, of which Java would tell in twenty lines, and a standalone cluster of which nobody
    answers, whom Spark would go on asking for a minute."""
    if not master.startswith(STANDALONE):
        if not _MASTER.fullmatch(master):
            raise PenstockError(
                f"{master} is no master, such as local[2], local[*], spark://HOST:PORT, yarn, k8s://URL"
            )
        return
    reasons = []
    for address in master.removeprefix(STANDALONE).split(","):
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal():
            raise PenstockError(f"{master} is no master: a standalone cluster is spark://HOST:PORT")
        try:
            socket.create_connection((host.strip("[]"), int(port)), MASTER_ANSWERS_S_MAX).close()
            return
        except (OSError, OverflowError) as failure:
            reasons.append(f"{address}: {getattr(failure, 'strerror', None) or failure}")
    raise PenstockError(f"no Spark master answers at {master} ({'; '.join(reasons)})")


def is_local(master: str) -> bool:
    return master == "local" or master.startswith(("local[", "local-cluster["))


def local_cores(master: str, machine: int) -> int:
    """How many cores `local`, `local[4]`, `local[*]` or `local[4,2]` means on a machine with so many."""
    inside = master.partition("[")[2].rstrip("]").split(",")[0].strip()
    if not inside:
        return 1
    return int(inside) if inside.isdigit() else machine


def require_spark() -> None:
    """Refuse in one line where Spark is not installed."""
    for package in ("pyspark", "pyarrow", "pandas"):
        if importlib.util.find_spec(package) is None:
            raise SparkMissing(f"{package} is not installed: {INSTALL}")


def _prepare_java(chosen: dict[str, str]) -> Archive:
    """Choose Java for the one that is about to start, and tell it where to put and find things."""
    from pyspark.find_spark_home import _find_spark_home

    found = java.choose(house())
    os.environ["JAVA_HOME"] = str(found.home)
    litter = Path(tempfile.mkdtemp(prefix="penstock-spark-"))
    atexit.register(shutil.rmtree, litter, ignore_errors=True)
    chosen["spark.sql.warehouse.dir"] = str(litter / "warehouse")
    archive = Archive(house(), found.home, Path(_find_spark_home()))
    options = [f"-Dderby.system.home={litter}", f"-Dlog4j2.configurationFile={QUIET_LOG}", *archive.options()]
    chosen["spark.driver.extraJavaOptions"] = " ".join(options)
    return archive


def _prepare_environment(master: str) -> None:
    """Workers run the interpreter that runs this; on other machines the person may know a better one."""
    from pyspark.find_spark_home import _find_spark_home

    if is_local(master):
        python = worker_python(house(), Path(_find_spark_home()))
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = python
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if is_local(master) or _is_loopback(master):
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)


def _merged(chosen: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """What the person gives wins, except that options for Java are added to ours rather than replacing them."""
    key = "spark.driver.extraJavaOptions"
    both = " ".join(options for options in (chosen.get(key), given.get(key)) if options)
    return {**chosen, **given} | ({key: both} if both else {})


def _is_loopback(master: str) -> bool:
    host = master.partition("://")[2].rpartition(":")[0]
    return host in {LOOPBACK, "localhost"}


def _said_plainly(failure: Exception, master: str) -> PenstockError:
    """Java's stack is for those who maintain Spark; the first line says what there is to know."""
    first = str(failure).strip().partition("\n")[0] or type(failure).__name__
    return PenstockError(f"Spark did not start on {master}: {first}")


def _end_java(archive: Archive) -> None:
    """Java writes the archive when it ends, and it ends when nobody holds the other end of its input."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    if gateway is None or gateway.proc is None:
        return
    if SparkContext._active_spark_context is not None:
        with suppress(Exception):
            SparkContext._active_spark_context.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    archive.settle(gateway.proc)
