"""What no file may say: unfinished work, silenced checks without a reason, places that only one machine has.

The patterns are written so that this file does not match itself.
"""

import re

UNFINISHED = [
    re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b"),
    re.compile(r"\bNot" r"Implemented" r"Error\b"),
    re.compile(r"\b(?:place" r"holder|not yet imple" r"mented|coming so" r"on)\b", re.IGNORECASE),
]
UNREASONED = [
    re.compile(r"#\s*type:\s*ignore(?:\[[^\]]*\])?\s*$", re.MULTILINE),
    re.compile(r"#\s*no" r"qa\b(?::\s*[A-Z0-9, ]+)?\s*$", re.MULTILINE),
]
SKIPPED = [re.compile(r"\bpytest\.(?:sk" r"ip|mark\.sk" r"ip|mark\.xf" r"ail|xf" r"ail|importor" r"skip)")]
SLEEPING = [re.compile(r"\btime\.sl" r"eep\("), re.compile(r"\basyncio\.sl" r"eep\((?!0\))")]

ADDRESSES = [
    re.compile(r"py" r"pi\.org|pythonho" r"sted\.org|--(?:extra-)?index" r"-url\b", re.IGNORECASE),
    re.compile(r"repo1?\.ma" r"ven\.|maven\.apa" r"che\.org|registry\.np" r"mjs|conda\.ana" r"conda", re.IGNORECASE),
]
MACHINE_PATHS = [re.compile(r"(?<![\w.<>*}/-])/(?:wo" r"rk|ro" r"ot|ho" r"me|Us" r"ers|mnt|opt)/[\w.]")]


def unreasoned_complaints(name: str, text: str) -> list[str]:
    """A reason stands behind the mark or in a comment on the line above it."""
    before = ["", *text.splitlines()]
    reasoned = {number for number, line in enumerate(before, 1) if line.lstrip().startswith("#")}
    complaints = complaints_about(name, text, UNREASONED)
    return [complaint for complaint in complaints if int(complaint.split(":")[1]) not in reasoned]


def complaints_about(name: str, text: str, patterns: list[re.Pattern[str]]) -> list[str]:
    """Looks through the whole text at once, and at its lines only where something was found."""
    if not any(pattern.search(text) for pattern in patterns):
        return []
    return [
        f"{name}:{number}: {line.strip()[:100]}"
        for number, line in enumerate(text.splitlines(), 1)
        if any(pattern.search(line) for pattern in patterns)
    ]
