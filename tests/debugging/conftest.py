"""Commands as a person runs them."""

from tests.cli.conftest import shell

__all__ = ["shell"]
