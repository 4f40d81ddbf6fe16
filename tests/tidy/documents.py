"""Documents that stay true: their links lead somewhere, the paths they name exist, and they cite no line numbers."""

import re
from pathlib import Path

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE_SPAN = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINE_NUMBER = re.compile(r"\.(?:py|c|toml)(?::|#L)\d+")
HEADING = re.compile(r"^#+\s+(.+?)\s*$", re.MULTILINE)

# A code span is taken for a path when it begins with one of the project's folders and looks like nothing else.
OUR_FOLDERS = ("src/", "tests/", "bench/", "docs/", "examples/", "requirements/", "tools/", ".ci/")
PLAIN_PATH = re.compile(r"[\w./-]+")


def link_complaints(document: Path, text: str) -> list[str]:
    complaints = []
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = document.parent / name if name else document
        if not file.exists():
            complaints.append(f"{document.name}: the link to {target} leads nowhere")
        elif anchor and file.suffix == ".md" and anchor not in anchors(text if not name else file.read_text()):
            complaints.append(f"{document.name}: {target} has no such heading")
    return complaints


def path_complaints(root: Path, document: Path, text: str) -> list[str]:
    return [
        f"{document.name}: `{span}` does not exist"
        for span in CODE_SPAN.findall(FENCE.sub("", text))
        if span.startswith(OUR_FOLDERS) and PLAIN_PATH.fullmatch(span) and not (root / span).exists()
    ]


def line_number_complaints(document: Path, text: str) -> list[str]:
    return [f"{document.name}: `{found}` cites a line; name the symbol" for found in LINE_NUMBER.findall(text)]


def anchors(text: str) -> set[str]:
    """Headings as links spell them: lower case, punctuation gone, dashes for blanks."""
    titles = HEADING.findall(FENCE.sub("", text))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
