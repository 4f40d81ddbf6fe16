"""Penstock: a commit log that speaks Kafka's wire protocol.

The house at a glance: `core` decides and never waits, `shell` performs what it decided, everything else is a user of
the two. `docs/architecture.md` walks through it path by path.
"""

__version__ = "0.1.0"
