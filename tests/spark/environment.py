"""Settings that keep Spark quiet, quick on small data, on loopback, and out of the working folder."""

from pathlib import Path

QUICK_COMPILER = "-XX:TieredStopAtLevel=1"
QUICK_JAVA = f"{QUICK_COMPILER} -XX:+UseSerialGC"
"""For short lives: what the second compiler and a collector with threads of its own cost, they never give back."""
QUICK_SUBMIT = {"SPARK_SUBMIT_OPTS": QUICK_JAVA}
"""Every driver that is started with this in its environment takes it, whoever made its session."""
ROOT = Path(__file__).resolve().parent.parent.parent
WORKER_PATH = (str(ROOT / "src"), str(ROOT))
"""Where Python workers find the package and the tests' own functions."""


def calm_settings(folder: Path) -> dict[str, str]:
    """For a driver whose every file goes below `folder`."""
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        # Short lives are better spent than on compiling well.
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder} -Djava.io.tmpdir={folder} {QUICK_COMPILER}",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        # A shuffle of a few hundred rows in two hundred parts would be all a test does.
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.stopTimeout": "30000",
    }
