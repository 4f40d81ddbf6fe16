"""What reading the registry's topic needs of the node around it."""

from __future__ import annotations

from typing import Protocol

from penstock.core.node.storage.letters import LetterHost


class SchemaHost(LetterHost, Protocol):
    """The node that folds the topic, and diverts what does not fit."""
