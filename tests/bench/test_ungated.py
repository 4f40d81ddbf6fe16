"""The node without gates that the bench compares with is the node of now."""

import importlib.util

import pytest

from bench.ungated import ASKED, ASKING, Ungated


@pytest.mark.parametrize("module", ASKING)
def test_every_question_is_found_and_none_is_left(module: str) -> None:
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    loader = Ungated(module, spec.origin)
    assert len(ASKED.findall(loader.get_data(spec.origin).decode())) == ASKING[module]
    assert loader.get_code(module) is not None
