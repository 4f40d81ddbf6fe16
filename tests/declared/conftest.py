"""Commands are run as the tests of commands do it."""

from tests.cli.conftest import shell

__all__ = ["shell"]
