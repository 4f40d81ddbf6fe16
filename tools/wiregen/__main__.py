"""Writes `penstock.core.wire.api`, `.stored` and `.api_table` from Kafka's source.

python -m tools.wiregen PATH_OF_KAFKA_SOURCE [--branch 4.3]
"""

import argparse
import subprocess
import sys
from pathlib import Path

from tools.wiregen.definitions import Definition, load, source_tree
from tools.wiregen.modules import api_modules, stored_modules
from tools.wiregen.table import render_table

WIRE = Path(__file__).parents[2] / "src" / "penstock" / "core" / "wire"


def main() -> None:
    parser = argparse.ArgumentParser(prog="wiregen", description=__doc__)
    parser.add_argument("source", type=Path, help="Kafka's source: a folder with its files, or a git directory")
    parser.add_argument("--branch", default="4.3", help="which branch to read from a git directory")
    arguments = parser.parse_args()
    with source_tree(arguments.source, arguments.branch) as tree:
        write_all(load(tree), WIRE)


def write_all(definitions: dict[str, Definition], folder: Path) -> list[Path]:
    """Writes every generated module below `folder` and names them."""
    files = {folder / "api_table.py": render_table(definitions)}
    files |= {folder / "api" / f"{module.name}.py": module.render() for module in api_modules(definitions)}
    files |= {folder / "stored" / f"{module.name}.py": module.render() for module in stored_modules(definitions)}
    for path, text in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    format_files(list(files))
    return list(files)


def format_files(paths: list[Path]) -> None:
    ruff = [sys.executable, "-m", "ruff"]
    subprocess.run([*ruff, "check", "--quiet", "--select", "I", "--fix", *paths], check=True)
    subprocess.run([*ruff, "format", "--quiet", "--line-length", "120", *paths], check=True)


if __name__ == "__main__":
    main()
