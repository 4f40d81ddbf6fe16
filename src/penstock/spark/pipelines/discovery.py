"""Finding pipelines: in a file, in a module, or in the packages that are installed.

`--from` names a file or a module; without it PENSTOCK_PIPELINES does (several, separated as on PATH); without that the
entry points of the group `penstock.pipelines` are asked, each naming a module or one pipeline.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Final

from penstock.client.errors import ClientError
from penstock.spark.pipelines.declaration import Misdeclared, Pipeline
from penstock.spark.session import INSTALL

GROUP: Final = "penstock.pipelines"
VARIABLE: Final = "PENSTOCK_PIPELINES"
SAY_WHERE: Final = f"say where pipelines are declared: --from FILE_OR_MODULE, or {VARIABLE}"


class NotFound(ClientError):
    """There is no such pipeline, or nowhere to look for it."""


def find(name: str, places: Iterable[str]) -> Pipeline:
    """The pipeline of a name."""
    known = find_all(places)
    if name in known:
        return known[name]
    if not known:
        raise NotFound(f"there is no pipeline {name}: none is declared here", hint=SAY_WHERE)
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known are: {', '.join(sorted(known))}"
    raise NotFound(f"there is no pipeline {name}; {hint}", hint="see `penstock pipeline list`")


def find_all(places: Iterable[str]) -> dict[str, Pipeline]:
    """All pipelines of the places, by name. One value may be found twice, two with one name may not."""
    known: dict[str, Pipeline] = {}
    for module, pipeline in _candidates(list(places)):
        if known.setdefault(pipeline.name, pipeline) is not pipeline:
            raise NotFound(f"{module} declares a second pipeline with the name {pipeline.name}")
    return known


def pipelines_of(values: Mapping[str, object]) -> Iterator[Pipeline]:
    """The pipelines among a module's values, alone or in a tuple or list."""
    for value in values.values():
        for one in value if isinstance(value, tuple | list) else (value,):
            if isinstance(one, Pipeline):
                yield one


def _candidates(places: list[str]) -> Iterator[tuple[str, Pipeline]]:
    wanted = places or [place for place in os.environ.get(VARIABLE, "").split(os.pathsep) if place]
    for place in wanted:
        module = _load(place)
        ship_by_value(module)
        yield from ((place, pipeline) for pipeline in pipelines_of(vars(module)))
    for point in () if wanted else entry_points(group=GROUP):
        found = point.load()
        values = vars(found) if isinstance(found, ModuleType) else {point.name: found}
        yield from ((point.value, pipeline) for pipeline in pipelines_of(values))


def _load(place: str) -> ModuleType:
    """Import a file or a module; what goes wrong inside becomes one line that names it."""
    try:
        if place.endswith(".py") or os.sep in place:
            return _load_file(Path(place))
        # The folder that one stands in counts, as it does for `python -m`.
        _put_on_path(Path.cwd())
        return importlib.import_module(place)
    except NotFound:
        raise
    except Misdeclared as failure:
        raise NotFound(str(failure)) from None
    except ModuleNotFoundError as missing:
        raise _missing(place, missing.name or "something") from missing
    except Exception as failure:
        raise NotFound(
            f"{place} cannot be imported: {type(failure).__name__}: {failure}",
            hint=f"see it whole: python {_run(place)}",
        ) from failure


def _missing(place: str, name: str) -> NotFound:
    if name in {"pyspark", "pyarrow", "pandas"}:
        return NotFound(f"{place} needs {name}, which is not installed: {INSTALL}")
    if f"{place}.".startswith(f"{name}."):
        return NotFound(f"there is no module {place} here", hint=f"{SAY_WHERE}; a file's name ends in .py")
    return NotFound(
        f"{place} needs {name}, which is not installed",
        hint="install it beside penstock, or run the command where it lies",
    )


def _run(place: str) -> str:
    return place if place.endswith(".py") else f"-m {place}"


def _load_file(path: Path) -> ModuleType:
    """A file is imported under the name it has in its package, so that its own imports work."""
    if not path.is_file():
        raise NotFound(f"there is no file {path}", hint=SAY_WHERE)
    path = path.resolve()
    root = path.parent
    while (root / "__init__.py").is_file():
        root = root.parent
    _put_on_path(root)
    name = ".".join(path.relative_to(root).with_suffix("").parts)
    module = importlib.import_module(name)
    if module.__file__ is None or Path(module.__file__).resolve() != path:
        raise NotFound(f"{path} cannot be imported as {name}: {module.__file__ or 'something else'} has that name")
    return module


def _put_on_path(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def ship_by_value(module: ModuleType) -> None:
    """Send functions of this module, and of its package or folder, to the workers whole.

    Workers import functions by name, and the person's folder is not where they look. What is installed is left to be
    imported; what lies beside the file is not installed.
    """
    if importlib.util.find_spec("pyspark") is None or module.__file__ is None:
        return
    from pyspark import cloudpickle

    folder = Path(module.__file__).resolve().parent
    top = module.__name__.partition(".")[0]
    if "site-packages" in folder.parts or top == "penstock":
        return
    if top != module.__name__:
        folder = folder.parents[module.__name__.count(".") - 1]
        folder = folder / top
    register: Callable[[ModuleType], None] = cloudpickle.register_pickle_by_value
    for neighbour in list(sys.modules.values()):
        file = getattr(neighbour, "__file__", None)
        if file is not None and Path(file).resolve().is_relative_to(folder):
            register(neighbour)
