"""Debian's chromium, driven by Selenium, and axe-core: those of the system, or fetched once by the tests."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

CACHE: Final = Path(__file__).resolve().parents[2] / ".cache" / "browser"
SCREENSHOTS: Final = CACHE / "screenshots"
AXE: Final = "axe-core@4.10.3"
FETCH_S_MAX: Final = 600.0
LOAD_S_MAX: Final = 60.0
SERIOUS: Final = ("serious", "critical")
RUN_AXE: Final = "const done = arguments[0]; axe.run().then((found) => done(found.violations));"


@contextmanager
def browser() -> Iterator[Chrome]:
    options = ChromeOptions()
    options.binary_location = _program("chromium", "chromium")
    # Root may not have the sandbox; what the pages hold is ours.
    for word in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1280,900",
    ):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=Service(_program("chromedriver", "chromium-driver")))
    driver.set_page_load_timeout(LOAD_S_MAX)
    driver.set_script_timeout(LOAD_S_MAX)
    try:
        yield driver
    finally:
        driver.quit()


def violations(driver: Chrome) -> list[str]:
    """What axe finds serious, each with the elements."""
    driver.execute_script(axe())
    found: list[dict[str, Any]] = driver.execute_async_script(RUN_AXE)
    return [
        f"{each['id']}: {node['html'][:200]}" for each in found if each["impact"] in SERIOUS for node in each["nodes"]
    ]


def complaints(driver: Chrome) -> list[str]:
    """What the browser had to say against the page: refused by the policy, failed, not found."""
    return [str(each["message"]) for each in driver.get_log("browser") if each["level"] in ("SEVERE", "WARNING")]


def keep(driver: Chrome, name: str) -> Path:
    """A screenshot, as an artefact of the run."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    path = SCREENSHOTS / f"{name}.png"
    driver.save_screenshot(str(path))
    return path


def axe() -> str:
    """The script, from npm."""
    script = CACHE / "package" / "axe.min.js"
    with _alone():
        if not script.exists():
            npm = shutil.which("npm")
            assert npm is not None, "axe-core comes from npm, which is not installed: apt-get install npm"
            done = subprocess.run(
                [npm, "pack", "--silent", AXE],
                cwd=CACHE,
                capture_output=True,
                text=True,
                timeout=FETCH_S_MAX,
                check=False,
            )
            assert done.returncode == 0, f"npm cannot fetch {AXE}: {done.stderr}"
            with tarfile.open(CACHE / done.stdout.strip()) as archive:
                archive.extractall(CACHE, filter="data")
    return script.read_text()


def _program(name: str, package: str) -> str:
    """It stands on many libraries of the system, so it is installed and not unpacked."""
    if (found := shutil.which(name)) is None:
        with _alone():
            for words in (("update", "-qq"), ("install", "-qq", "-y", "--no-install-recommends", package)):
                environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
                subprocess.run(
                    ["apt-get", *words], timeout=FETCH_S_MAX, check=False, capture_output=True, env=environment
                )
        found = shutil.which(name)
    assert found is not None, f"{name} is not there and cannot be installed: apt-get install {package}"
    return found


@contextmanager
def _alone() -> Iterator[None]:
    """Several workers may want it at once."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
