"""The manual page, out of what `--help` says: `python -m penstock.cli.man_page > docs/penstock.1`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from penstock import __version__
from penstock.cli import app as application
from penstock.cli.help_pages import EXAMPLES, commands_of, complete_help

_MARKUP = re.compile(r"\[/?[a-z ]+\]")
_HEAD = r"""
.SH NAME
penstock \- a commit log that speaks Kafka's protocol
.SH SYNOPSIS
.B penstock
.RI [ options ]
.I command
.RI [ arguments ]
.SH DESCRIPTION
A distributed, replicated commit log that every Kafka client can use.
.B penstock up
starts a cluster on this machine, and
.B penstock node
one node with settings in Kafka's words; the other commands ask and change a cluster that runs, or look at the folders
of one that is stopped.
.SH COMMANDS
"""
_FOOT = r"""
.SH ENVIRONMENT
.TP
.B PENSTOCK_BOOTSTRAP
Where brokers listen, as for
.BR \-\-bootstrap .
.TP
.B PENSTOCK_COMMAND_CONFIG
A file that says how clients get in, as for
.BR \-\-command\-config .
.SH EXIT STATUS
0 if it was done, 1 if it could not be, 2 if it was not said as it has to be. What is wrong is
one line on standard error, and what to do is another one.
.SH SEE ALSO
.B penstock
.I command
.B \-\-help
"""


def page() -> str:
    application._add_extensions()
    root = typer.main.get_command(application.app)
    complete_help(root)
    title = f'.TH PENSTOCK 1 "" "penstock {__version__}" "User Commands"'
    lines = [title, _HEAD.strip("\n")]
    for words, command in sorted(commands_of(root)):
        lines += _command(words, command)
    return "\n".join([*lines, _FOOT.strip("\n"), ""])


def _command(words: str, command: Any) -> Iterator[str]:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option" and not each.hidden]
    yield f".SS penstock {_escaped(words)} {' '.join(_escaped(_argument(each)) for each in arguments)}".rstrip()
    yield _text(command.help or "")
    for each in options:
        names = ", ".join(rf"\fB{_escaped(name)}\fR" for name in (*each.opts, *each.secondary_opts))
        value = "" if each.is_flag else rf" \fI{_escaped(_value(each))}\fR"
        yield ".TP"
        yield f"{names}{value}"
        yield _text(each.help or "")
    yield ".PP"
    yield "Example:"
    yield ".PP"
    yield f".EX\n    {_escaped(EXAMPLES[words])}\n.EE"


def _value(option: Any) -> str:
    choices = getattr(option.type, "choices", None)
    return "|".join(map(_word, choices)) if choices and option.metavar is None else option.metavar or "VALUE"


def _word(choice: Any) -> str:
    return str(getattr(choice, "value", choice))


def _argument(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _text(text: str) -> str:
    """Paragraphs, without the markup of a terminal; no line begins as a request of roff does."""
    paragraphs = [" ".join(each.split()) for each in text.split("\n\n")]
    return "\n.PP\n".join(_guarded(_escaped(_MARKUP.sub("", each))) for each in paragraphs) or r"\&"


def _guarded(line: str) -> str:
    return rf"\&{line}" if line[:1] in ".'" else line


def _escaped(text: str) -> str:
    return text.replace("\\", r"\e").replace("-", r"\-")


if __name__ == "__main__":
    print(page(), end="")
