"""Names of subjects: `:.context:subject`, or just `subject` in the context that has no name but a dot."""

from __future__ import annotations

from typing import Final, NamedTuple

DEFAULT_CONTEXT: Final = "."
GLOBAL_CONTEXT: Final = ".__GLOBAL"
"""Settings of this context hold where neither the subject nor its context has its own."""
GLOBAL_PREFIX: Final = f":{GLOBAL_CONTEXT}:"


class Qualified(NamedTuple):
    """A subject's name, taken apart. As the name of a context the subject is empty."""

    context: str
    subject: str

    def __str__(self) -> str:
        return prefix_of(self.context) + self.subject


def qualified(name: str) -> Qualified:
    if not name.startswith(":."):
        return Qualified(DEFAULT_CONTEXT, name)
    context, _, subject = name[1:].partition(":")
    return Qualified(context, subject)


def prefix_of(context: str) -> str:
    """What stands before the names of a context's subjects; it is the name of the context's own settings, too."""
    return "" if context == DEFAULT_CONTEXT else f":{context}:"


def beside(name: str, parent: str) -> str:
    """A subject as another one names it: without a context it is in the other one's."""
    return name if name.startswith(":.") else prefix_of(qualified(parent).context) + name


def context_name(text: str) -> str | None:
    """A context as somebody writes it, with or without its dot and its colons; None if it cannot be one."""
    bare = text.removeprefix(":").removesuffix(":")
    if ":" in bare:
        return None
    return bare if bare.startswith(".") else f".{bare}"
