"""A node whose gates nobody asks: `python bench/ungated.py node ...` is `penstock node ...` with each question whether
a gate is there taken out of the source before it is compiled.

So what is left of the gates on the path of a request is nothing at all, and the difference to the real node is what
they cost where nobody has set one up.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import re
import sys
from types import CodeType
from typing import Any, Final

ASKED: Final = re.compile(r"(?:self\._)?node\.gates is (not )?OPEN\b")
ASKING: Final = {
    "penstock.core.apis.produce_fast_path": 1,
    "penstock.core.apis.produce_admission": 2,
    "penstock.core.node.serving.dispatching": 3,
}
"""The modules on the path of a produce request, and how often each asks."""


class Ungated(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        """Never from a cache, and into none."""
        path = self.get_filename(fullname)
        text, count = ASKED.subn(lambda found: "False" if found[1] else "True", self.get_data(path).decode())
        assert count == ASKING[fullname], f"{fullname} asks {count} times: bench/ungated.py knows another number"
        return compile(text, path, "exec", dont_inherit=True)


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        spec = importlib.machinery.PathFinder.find_spec(name, path, target) if name in ASKING else None
        if spec is not None:
            assert spec.origin is not None
            spec.loader = Ungated(name, spec.origin)
        return spec


if __name__ == "__main__":
    sys.meta_path.insert(0, Finder())
    from penstock.cli.main import main

    sys.exit(main())
