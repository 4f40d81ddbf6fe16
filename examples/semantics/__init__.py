"""At most once, at least once, exactly once: one small program for each, killed at its worst moment, and the count.

`python -m examples.semantics` runs all three on a node of its own, and cleans up.
"""
