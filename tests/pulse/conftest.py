"""The same clusters as those that the doctor looks at."""

from tests.checkup.conftest import cluster, penstock, shell, up

__all__ = ["cluster", "penstock", "shell", "up"]
