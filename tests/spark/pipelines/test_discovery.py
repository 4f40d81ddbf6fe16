"""Finding pipelines in files, modules and the environment."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.spark.pipelines.discovery import VARIABLE, NotFound, find, find_all

DECLARED = """
from penstock.spark.pipelines import ConsoleSink, Pipeline, TopicSource
def make(name):
    return Pipeline(name, (TopicSource("orders"),), (ConsoleSink(),))
alone = make("alone")
several = (make("first"), make("second"), alone)
"""


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What one test imports is not there for the next."""
    import sys

    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    yield
    for name in set(sys.modules) - known:
        del sys.modules[name]


def write(folder: Path, name: str, text: str = DECLARED) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_pipelines_of_a_file_alone_and_in_a_tuple(tmp_path: Path) -> None:
    file = write(tmp_path, "one_file.py")

    assert sorted(find_all([str(file)])) == ["alone", "first", "second"]
    assert find("first", [str(file)]).name == "first"


def test_a_file_of_a_package_finds_its_neighbours(tmp_path: Path) -> None:
    write(tmp_path, "shop/__init__.py", "")
    write(tmp_path, "shop/parts.py")
    file = write(tmp_path, "shop/flows.py", "from shop.parts import make\nmine = make('mine')")

    assert list(find_all([str(file)])) == ["mine"]


def test_a_module_is_looked_for_where_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "flows_here.py")
    monkeypatch.chdir(tmp_path)

    assert "alone" in find_all(["flows_here"])


def test_the_environment_names_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(write(tmp_path, "by_variable.py")))

    assert "alone" in find_all([])


def test_functions_of_a_file_are_shipped_whole(tmp_path: Path) -> None:
    from pyspark import cloudpickle

    write(tmp_path, "beside.py", "def helper(value):\n    return value + 1")
    source = DECLARED + "\nfrom beside import helper\ndef function(value):\n    return helper(value)\n"
    file = write(tmp_path, "by_value.py", source)
    find_all([str(file)])
    import sys

    pickled = cloudpickle.dumps(sys.modules["by_value"].function)
    del sys.modules["by_value"], sys.modules["beside"]
    sys.path.remove(str(tmp_path))

    assert cloudpickle.loads(pickled)(1) == 2


def test_a_name_that_is_almost_right_is_corrected(tmp_path: Path) -> None:
    file = str(write(tmp_path, "almost.py"))

    with pytest.raises(NotFound, match="no pipeline allone; did you mean alone"):
        find("allone", [file])
    with pytest.raises(NotFound, match="known are: alone, first, second"):
        find("zzz", [file])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (DECLARED + "other = make('alone')", "declares a second pipeline with the name alone"),
        (DECLARED + "bad = make('')", "is not a name for a pipeline"),
        ("raise RuntimeError('no luck')", "cannot be imported: RuntimeError: no luck"),
        ("import not_there_at_all", "needs not_there_at_all, which is not installed"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(NotFound, match=said):
        find_all([str(write(tmp_path, f"wrong_{abs(hash(text))}.py", text))])


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no file") as failed:
        find_all([str(tmp_path / "nowhere.py")])
    assert "--from FILE_OR_MODULE" in str(failed.value.hint)


def test_a_module_that_is_not_there_is_not_called_a_missing_package() -> None:
    with pytest.raises(NotFound, match=r"there is no module no_such\.module here"):
        find_all(["no_such.module"])


def test_where_nothing_is_declared_it_is_said_how_to_say_where(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no pipeline alone: none is declared here") as failed:
        find("alone", [str(write(tmp_path, "nothing_here.py", ""))])
    assert "--from FILE_OR_MODULE" in str(failed.value.hint)
