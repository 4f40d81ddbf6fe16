"""Every page in a real browser, used as a person would; axe finds nothing serious; nothing breaks at 390 px.

One browser and one console for all of it, because each costs a second. Screenshots stay in .cache/browser.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from penstock.client.blocking import Client
from penstock.client.groups import Groups
from penstock.client.metadata import TopicPartition
from penstock.client.producing import Producer
from penstock.core.delivery.dead_letter import Origin, dead_letter_headers
from penstock.core.delivery.policy import GiveUp
from penstock.services.console.pages import PAGES
from penstock.testing.broker import Broker
from tests.cli.running import command
from tests.console.browsing import browser, complaints, keep, violations
from tests.waiting import wait_until

pytestmark = pytest.mark.slow
SCRIPT = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
SIDEWAYS = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"


class Person:
    """Somebody before a browser."""

    def __init__(self, driver: Chrome, url: str) -> None:
        self.driver = driver
        self.url = url

    def opens(self, path: str) -> None:
        self.driver.get(self.url + path)

    def sees(self, text: str) -> None:
        wait_until(lambda: text in self.text, what=f"{text!r} on the page")

    @property
    def text(self) -> str:
        try:
            return self.driver.find_element(By.TAG_NAME, "body").text
        except StaleElementReferenceException:
            return ""

    def clicks(self, text: str) -> None:
        for element in self.driver.find_elements(By.CSS_SELECTOR, "a, button, summary"):
            if element.text.strip() == text and element.is_displayed():
                element.click()
                return
        raise AssertionError(f"nothing that says {text!r} in {self.text}")

    def types(self, field: str, text: str) -> None:
        found = [each for each in self.driver.find_elements(By.NAME, field) if each.is_displayed()]
        found[0].clear()
        found[0].send_keys(text)

    def chooses(self, field: str, value: str) -> None:
        Select(self.driver.find_element(By.NAME, field)).select_by_visible_text(value)

    def confirms(self) -> None:
        found = self.driver.find_elements(By.CSS_SELECTOR, "button.bad")
        next(each for each in found if each.is_displayed()).click()

    def presses(self, *keys: str) -> None:
        self.driver.find_element(By.TAG_NAME, "body").send_keys(*keys)


@pytest.fixture(scope="module")
def own_broker() -> Iterator[Broker]:
    """One that may be stopped."""
    with Broker({"group.initial.rebalance.delay.ms": 0}) as broker:
        broker.create_topic("orders", 3)
        broker.create_topic("orders.dlq")
        broker.create_topic("payments", 2)
        with Client(broker.bootstrap) as client:
            with Producer(client) as producer:
                for number in range(300):
                    order = {"order": number, "city": ("Graz", "Linz", "Wien")[number % 3], "total": number * 7 % 100}
                    producer.send(
                        "orders", b"order-%d" % number, json.dumps(order).encode(), [("trace", b"t%d" % number)]
                    )
                producer.send("payments", b"script", SCRIPT.encode(), partition=0)
                for number in range(9):
                    reason = GiveUp(3, *(("KeyError", "city") if number % 3 else ("ValueError", "no total")))
                    headers = dead_letter_headers([], Origin("orders", 0, number, 1), reason, "group=billing")
                    producer.send("orders.dlq", b"k", b'{"order": %d}' % number, headers)
            Groups(client).commit("billing", {TopicPartition("orders", number): 20 for number in range(3)})
        yield broker


@pytest.fixture(scope="module")
def person(own_broker: Broker) -> Iterator[Person]:
    words = command("console", "-b", own_broker.bootstrap, "--port", "0")
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        url = next(line.removeprefix("console: ").strip() for line in lines if line.startswith("console: "))
        reading = threading.Thread(target=process.stderr.read)
        reading.start()
        try:
            with browser() as driver:
                yield Person(driver, url)
        finally:
            process.terminate()
            reading.join()


PATHS = [
    *((page.name, page.path) for page in PAGES),
    ("topic", "/topics/orders"),
    ("topic-create", "/topics-create"),
    ("settings", "/topics/orders/settings"),
    ("messages", "/topics/orders/messages"),
    ("record", "/topics/payments/record?partition=0&offset=0"),
    ("produce", "/topics/orders/produce"),
    ("group", "/groups/view?name=billing"),
    ("group-reset", "/groups/reset?name=billing&topic=orders&to=earliest"),
    ("letters", "/dead-letters/of/orders.dlq"),
    ("letter", "/dead-letters/of/orders.dlq/letter?partition=0&offset=1"),
    ("redrive", "/dead-letters/of/orders.dlq/redrive"),
    ("broker", "/brokers/1"),
    ("schema-check", "/schemas/check"),
    ("missing", "/topics/missing"),
]


def test_every_page(person: Person) -> None:
    """Wide and light, narrow and dark."""
    person.opens("/")
    for theme, width in (("light", 1280), ("dark", 390)):
        person.driver.execute_script("localStorage.setItem('theme', arguments[0])", theme)
        size = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}
        # A window is no narrower than 500 px; what is in it is.
        person.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        for name, path in PATHS:
            person.opens(path)
            keep(person.driver, f"{name}-{theme}")
            if theme == "light" or name in ("overview", "messages", "group", "produce", "letters"):
                assert violations(person.driver) == [], (name, theme)
            assert person.driver.execute_script(SIDEWAYS) <= 0, f"{name} must not move sideways at {width} px"
    assert [each for each in complaints(person.driver) if "404" not in each] == []
    person.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    person.driver.execute_script("localStorage.removeItem('theme')")


def test_a_topic_from_its_beginning_to_its_end_by_hand(person: Person) -> None:
    person.opens("/topics")
    person.clicks("Create a topic")
    person.types("name", "by-hand")
    person.types("partitions", "2")
    person.clicks("Create")
    person.sees("topic by-hand was made")
    person.clicks("Settings")
    person.types("q", "retention.ms")
    wait_until(lambda: len(person.driver.find_elements(By.CSS_SELECTOR, "details.setting")) < 5, what="fewer settings")
    person.driver.find_element(By.CSS_SELECTOR, "details.setting summary").click()
    person.clicks("Set")
    person.opens("/topics/by-hand/produce")
    person.chooses("value_format", "json")
    person.types("value", '{"made": "by hand"}')
    person.clicks("Produce")
    person.sees("the record was written")
    person.opens("/topics/by-hand")
    person.clicks("Delete the topic")
    person.types("confirm", "by-hand")
    person.confirms()
    person.sees("topic by-hand was deleted")


def test_search_as_one_types_and_keys(person: Person) -> None:
    person.opens("/")
    person.presses("g", "t")
    wait_until(lambda: person.driver.current_url.endswith("/topics"), what="the page of topics")
    person.presses("/")
    person.driver.switch_to.active_element.send_keys("pay")
    wait_until(lambda: "orders" not in person.driver.find_element(By.ID, "found").text, what="only what was asked for")
    assert "payments" in person.text
    person.driver.switch_to.active_element.send_keys(Keys.TAB)
    person.opens("/")
    person.presses("?")
    wait_until(lambda: person.driver.find_element(By.ID, "help").is_displayed(), what="the keys")


def test_a_record_with_script_is_text(person: Person) -> None:
    for path in (
        "messages?partition=0",
        "record?partition=0&offset=0",
        "messages?partition=0&filter=value+contains+'script'",
    ):
        person.opens(f"/topics/payments/{path}")
        person.sees("owned")
        assert person.driver.title != "owned"
        assert person.driver.find_elements(By.CSS_SELECTOR, "main img, main script") == []


def test_live_records(person: Person, own_broker: Broker) -> None:
    person.opens("/topics/payments/messages")
    person.clicks("Live")
    person.sees("Live: 0 shown")
    own_broker.produce("payments", SCRIPT, "second", partition=1)
    person.sees("second")
    assert person.driver.find_elements(By.CSS_SELECTOR, "#rows img, #rows script") == []
    assert person.driver.title != "owned"
    keep(person.driver, "live")
    person.clicks("Stop")
    person.sees("Stopped.")


def test_a_group_is_moved(person: Person, own_broker: Broker) -> None:
    person.opens("/groups/view?name=billing")
    plotted: Callable[[], list[Any]] = lambda: person.driver.find_elements(By.CSS_SELECTOR, ".plot canvas")  # noqa: E731 - asked again and again
    wait_until(lambda: bool(plotted()), what="a plot")
    person.clicks("Move it to other offsets")
    person.chooses("to", "an offset")
    person.types("at", "5")
    person.clicks("Show what would change")
    person.sees("Nothing is changed yet")
    person.types("confirm", "billing")
    person.clicks("Move it")
    person.sees("group billing stands where it was put in orders")
    with Client(own_broker.bootstrap) as client:
        assert set(Groups(client).offsets("billing").values()) == {5}


def test_letters_go_back_and_the_page_says_so(person: Person) -> None:
    person.opens("/dead-letters/of/orders.dlq")
    person.clicks("Bring back")
    person.sees("Nothing is brought back yet")
    person.types("confirm", "orders.dlq")
    person.confirms()
    person.sees("it is done")
    person.sees("9 are back")


def test_a_broker_that_dies_while_the_page_is_open_and_comes_back(person: Person, own_broker: Broker) -> None:
    person.opens("/topics/orders")
    person.sees("Groups that read it")
    own_broker.stop()
    try:
        person.opens("/topics/orders")
        person.sees("The cluster does not answer")
        keep(person.driver, "away")
    finally:
        own_broker.start()
    person.sees("Groups that read it")
