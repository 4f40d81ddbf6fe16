"""Values: what a dataclass would be, and nothing else."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from penstock.core.base.values import fresh, frozen, mutable, replaced


@frozen
class Point:
    """A place."""

    x: int
    y: int = 2
    FAR: ClassVar[int] = 100

    @property
    def is_far(self) -> bool:
        return self.x > self.FAR


@dataclass(frozen=True, slots=True)
class PointTwin:
    x: int
    y: int = 2


@frozen
class Spot:
    x: int
    y: int = 2


@mutable
class Basket:
    name: str = "basket"
    things: list[int] = fresh(default_factory=list)


@dataclass(slots=True)
class BasketTwin:
    name: str = "basket"
    things: list[int] = field(default_factory=list)


@frozen
class Nothing:
    """No fields at all."""


@pytest.mark.parametrize("arguments", [(1,), (1, 3), (101, 2)])
def test_a_value_is_built_compared_and_shown_as_a_dataclass_is(arguments: tuple[int, ...]) -> None:
    point, twin = Point(*arguments), PointTwin(*arguments)
    assert (point.x, point.y) == (twin.x, twin.y)
    assert repr(point) == repr(twin).replace("PointTwin", "Point")
    assert point == Point(*arguments)
    assert hash(point) == hash(Point(*arguments))
    assert len({point, Point(*arguments), Point(-1)}) == 2
    assert point.is_far is (arguments[0] > 100)


def test_values_of_different_classes_differ() -> None:
    assert Point(1) != Spot(1)
    assert Point(1) != (1, 2)
    assert Point(1) != Point(1, 3)
    assert Nothing() == Nothing()


@pytest.mark.parametrize("build", [Point, Basket])
def test_a_wrong_argument_is_refused(build: Any) -> None:
    build(x=1) if build is Point else build(name="n")
    with pytest.raises(TypeError):
        build(z=1)
    with pytest.raises(TypeError):
        build(1, 2, 3)


def test_a_missing_argument_is_refused() -> None:
    build: Any = Spot
    with pytest.raises(TypeError):
        build()


def test_no_two_instances_share_what_is_made_anew() -> None:
    one, other = Basket(), Basket()
    one.things.append(1)
    one.name = "mine"
    assert (one.name, one.things, other.name, other.things) == ("mine", [1], "basket", [])
    given = [5]
    assert Basket("b", given).things is given
    assert repr(Basket()) == repr(BasketTwin()).replace("BasketTwin", "Basket")


def test_a_value_is_replaced_by_one_that_differs() -> None:
    before = Point(1, 3)
    assert replaced(before, y=4) == Point(1, 4)
    assert before == Point(1, 3)
    with pytest.raises(TypeError):
        replaced(before, z=1)


def test_what_changes_has_no_hash_and_nothing_has_other_attributes() -> None:
    with pytest.raises(TypeError):
        hash(Basket())
    point: Any = Point(1)
    with pytest.raises(AttributeError):
        point.z = 1


def test_a_value_matches_by_place_and_goes_to_another_process() -> None:
    match Point(4, 5):
        case Point(x, y):
            assert (x, y) == (4, 5)
    assert pickle.loads(pickle.dumps(Point(4, 5))) == Point(4, 5)
    assert Point.__doc__ == "A place."
