"""How the settings are called that slow down the copying of replicas, by whoever sets, plans or obeys them."""

from __future__ import annotations

from typing import Final

LEADER_RATE: Final = "leader.replication.throttled.rate"
FOLLOWER_RATE: Final = "follower.replication.throttled.rate"
RATES: Final = (LEADER_RATE, FOLLOWER_RATE)
"""Bytes per second that a broker sends, and fetches."""

LEADER_REPLICAS: Final = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS: Final = "follower.replication.throttled.replicas"
LISTS: Final = (LEADER_REPLICAS, FOLLOWER_REPLICAS)
"""The copies of a topic for which the rates are meant."""

EVERYONE: Final = "*"
"""In place of a list: all copies."""
