"""A broker of each kind, shared by the tests of the client."""

from tests.cli.brokers import cluster

__all__ = ["cluster"]
