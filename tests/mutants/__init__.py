"""Machine-made mutants: small mistakes in the core, made by chance and not by thought, and whether the tests see them.

    python -m tests.mutants --count 30 --seed 1

Planted bugs are those that somebody thought of. A mutant is a line in which a comparison is turned, a number is off by
one, a call is missing, `and` is `or`, or a condition is negated. Each is run against the tests of its package and a few
seeds of the simulator, in a copy of the tree, until something fails. What survives is a change that nobody notices: a
hole in the tests, or code that does not matter.
"""
