"""What others have written is shown to people, never obeyed: a name could move the cursor, or rename a window."""

import re

# Line ends and tabs are no danger. The last two ranges turn the direction of what is read.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def shown(text: str) -> str:
    """A text with each control character as the escape that stands for it."""
    return _CONTROL.sub(lambda match: _escape(ord(match[0])), text)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
