"""A real node for tests: `Broker`, and a pytest plugin with a node per session and a topic per test."""

from penstock.testing.broker import Broker, BrokerFailed

__all__ = ["Broker", "BrokerFailed"]
