"""Voters in the simulated world: whole nodes that keep the metadata together, whatever happens to them.

`scenario` plays a seed: nodes elect a leader, a decider keeps submitting, a storm passes over all of them. `watching`
looks at every node after each of its turns, and the invariants judge what it sees.
"""
