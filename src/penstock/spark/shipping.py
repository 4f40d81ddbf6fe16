"""Objects that go to executors and, where the package is missing there, say so themselves.

What Spark ships is pickled by name, so a worker without the package would fail with a bare "No module named
'penstock'". Here the name is wrapped in a function that travels as code and knows what to tell.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any


class Shipped:
    """A base for what is sent to workers: pickled as its class and its arguments."""

    def __reduce__(self) -> tuple[Callable[[bytes], object], tuple[bytes]]:
        return _unpacker(), (pickle.dumps((type(self), self.shipped_arguments())),)

    def shipped_arguments(self) -> tuple[Any, ...]:
        """What the constructor needs to make an equal one."""
        raise AssertionError("every shipped class says how it is made")


def _unpacker() -> Callable[[bytes], object]:
    # A function inside a function has no name to be found by, so the pickler sends its code. It may use nothing from
    # this module.
    def unpack(data: bytes) -> object:
        import pickle
        import socket
        import sys

        try:
            kind, arguments = pickle.loads(data)
        except ModuleNotFoundError as missing:
            raise ModuleNotFoundError(
                f'format("penstock") cannot run on {socket.gethostname()}: {missing}. Install the package for the '
                f"Python of the workers ({sys.executable} -m pip install 'penstock[spark]'), or name a Python that has "
                "it with spark.pyspark.python"
            ) from None
        return kind(*arguments)

    return unpack
