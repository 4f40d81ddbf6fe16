"""Settings that keep Spark quiet, quick on small data, on loopback, and out of the working folder."""

from pathlib import Path

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
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder} -Djava.io.tmpdir={folder}",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        # A shuffle of a few hundred rows in two hundred parts would be all a test does.
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.stopTimeout": "30000",
    }
