"""Makes .venv what a lock file says, and does nothing when it already is.

    python requirements/install.py run|spark|dev|notebook

Only the standard library is used, because this runs before anything is installed. What was installed is remembered in
a stamp inside .venv, keyed by the lock file's contents, so that every later run is instant and needs no network.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
PYTHON_VERSION_MIN = (3, 11)

# A profile is satisfied by its own stamp or by that of a profile that installs more.
PROFILES = {
    "run": ("run", "spark", "dev", "notebook"),
    "spark": ("spark", "dev", "notebook"),
    "dev": ("dev",),
    "notebook": ("notebook",),
}

# What an editable install copies, where it links the rest.
COPIED = ("pyproject.toml", "src/penstock-spark.pth", "src/penstock_spark_hook.py")

# Comes without a wheel. It is built with the locked tools of the `run` profile, which are therefore installed first.
SOURCE_ONLY = "pyspark"


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1] not in PROFILES:
        print(f"usage: install.py {'|'.join(PROFILES)}", file=sys.stderr)
        return 2
    if sys.version_info < PYTHON_VERSION_MIN:
        print("penstock needs Python 3.11 or newer, this is " + sys.version.split()[0], file=sys.stderr)
        return 1
    profile = sys.argv[1]
    if any(is_installed(candidate) for candidate in PROFILES[profile]):
        return 0
    try:
        install(profile)
    except subprocess.CalledProcessError as failure:
        print(f"setup failed: `{failure.cmd[-1]}` ended with {failure.returncode}; see above", file=sys.stderr)
        return 1
    return 0


def is_installed(profile: str) -> bool:
    stamp = stamp_of(profile)
    return PYTHON.exists() and stamp.exists() and stamp.read_text() == fingerprint(profile)


def install(profile: str) -> None:
    lock = lock_of(profile)
    count = sum(1 for line in lock.read_text().splitlines() if "==" in line)
    say(f"installing up to {count} locked packages ({lock.relative_to(ROOT)}) into {VENV.name}/")
    say("they come from the package index that pip is configured with; the next run needs no network")
    if profile != "run":
        say("pyspark is the largest: 450 MB to fetch, and it is built here; this takes some minutes the first time")
    if not venv_is_usable():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
    pip("--require-hashes", "--only-binary", ":all:", "-r", str(lock_of("run")))
    if profile != "run":
        from_source = ("--no-binary", SOURCE_ONLY, "--no-build-isolation")
        pip("--require-hashes", "--only-binary", ":all:", *from_source, "-r", str(lock))
    pip("--no-deps", "--no-build-isolation", "--no-index", "-e", str(ROOT))
    stamp_of(profile).write_text(fingerprint(profile))
    say(f"ready: {VENV.name}/bin/penstock")


def venv_is_usable() -> bool:
    if not PYTHON.exists():
        return False
    probe = f"import sys, pip; sys.exit(sys.version_info < {PYTHON_VERSION_MIN})"
    return subprocess.run([str(PYTHON), "-c", probe], check=False, stderr=subprocess.DEVNULL).returncode == 0


def pip(*arguments: str) -> None:
    quiet = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    subprocess.run([str(PYTHON), "-m", "pip", "install", "--quiet", *arguments], check=True, env=quiet)


def lock_of(profile: str) -> Path:
    return ROOT / "requirements" / f"{profile}.lock"


def stamp_of(profile: str) -> Path:
    return VENV / f".installed-{profile}"


def fingerprint(profile: str) -> str:
    """The project's own metadata counts too: a new entry point must reach an existing environment, and so must a
    moved checkout, because the environment holds its path."""
    copied = [(ROOT / name).read_bytes() for name in COPIED]
    digest = hashlib.sha256()
    for part in (lock_of(profile).read_bytes(), *copied, str(ROOT).encode()):
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()


def say(text: str) -> None:
    print(f"setup: {text}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
