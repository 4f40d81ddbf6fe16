"""The documents and the docstrings."""

import ast
from pathlib import Path

from tests.tidy.documents import anchors, line_number_complaints, link_complaints, path_complaints
from tests.tidy.tree import PACKAGE, ROOT, name_of, project_files, python_files, report

DOCUMENTS = [path for path in project_files() if path.suffix == ".md"]


def test_links_lead_somewhere() -> None:
    complaints = [line for path in DOCUMENTS for line in link_complaints(path, path.read_text())]
    assert not complaints, report(complaints)


def test_named_paths_exist() -> None:
    # The change log speaks of the past, where things may have had other names.
    current = [path for path in DOCUMENTS if path.name != "CHANGELOG.md"]
    complaints = [line for path in current for line in path_complaints(ROOT, path, path.read_text())]
    assert not complaints, report(complaints)


def test_documents_cite_symbols_not_lines() -> None:
    complaints = [line for path in DOCUMENTS for line in line_number_complaints(path, path.read_text())]
    assert not complaints, report(complaints)


def test_every_module_says_its_one_idea() -> None:
    silent = [name_of(path) for path in python_files(PACKAGE) if not ast.get_docstring(ast.parse(path.read_text()))]
    assert not silent, report(silent)


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {path.parent for path in python_files(PACKAGE)}
    missing = [name_of(folder / "__init__.py") for folder in sorted(folders) if not (folder / "__init__.py").exists()]
    assert not missing, report(missing)


def test_a_broken_document_is_seen(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    text = "# A title\n[a](gone.md) [b](#a-title) [c](#nothing) `src/penstock/gone.py` see log.py:12\n"
    document.write_text(text)
    assert len(link_complaints(document, text)) == 2
    assert len(path_complaints(ROOT, document, text)) == 1
    assert len(line_number_complaints(document, text)) == 1


def test_headings_become_anchors() -> None:
    assert anchors("# What it's for: `make`\n```\n# not a heading\n```\n") == {"what-its-for-make"}
