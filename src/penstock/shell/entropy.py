"""Chance from the system."""

import os


class SystemEntropy:
    """Implements `Entropy`."""

    def bytes(self, count: int) -> bytes:
        return os.urandom(count)
