"""What each service gets to know of an order, and what it does not."""

import pytest
from pyspark.sql import DataFrame, SparkSession

from examples.orders import branches
from tests.spark.orders.helpers import order, orders_frame

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def orders(spark: SparkSession) -> DataFrame:
    return orders_frame(spark, [order("1"), order("2", items=[], payment_method="cash")])


def test_payment_charges_the_sum_of_the_dishes(orders: DataFrame) -> None:
    assert [row.asDict() for row in branches.payment(orders).collect()] == [
        {"order_id": "1", "customer_id": "c1", "payment_method": "card", "amount_cents": 2550},
        {"order_id": "2", "customer_id": "c1", "payment_method": "cash", "amount_cents": 0},
    ]


def test_the_kitchen_sees_dishes_without_prices(orders: DataFrame) -> None:
    ticket = branches.restaurant(orders).first()
    assert ticket is not None
    assert ticket.restaurant == "Noodle Bar"
    assert [dish.asDict() for dish in ticket.dishes] == [
        {"dish": "Ramen", "quantity": 2},
        {"dish": "Gyoza", "quantity": 1},
    ]


def test_the_courier_knows_both_ends_of_the_ride(orders: DataFrame) -> None:
    ride = branches.delivery(orders).first()
    assert ride is not None
    assert (ride.city, ride.pick_up, ride.drop_off) == ("Delft", "Noodle Bar", "1 Mill Lane")


def test_the_customer_reads_a_sentence(orders: DataFrame) -> None:
    message = branches.notification(orders).first()
    assert message is not None
    assert message.text == "Noodle Bar is preparing your order of 25.50. We tell you when it leaves."


def test_points_are_for_full_units(orders: DataFrame) -> None:
    assert [row.points for row in branches.loyalty(orders).collect()] == [25, 0]


@pytest.mark.parametrize("branch", [branches.payment, branches.restaurant, branches.delivery, branches.notification])
def test_every_branch_has_one_row_per_order(orders: DataFrame, branch: branches.Branch) -> None:
    assert [row.order_id for row in branch(orders).select("order_id").collect()] == ["1", "2"]
