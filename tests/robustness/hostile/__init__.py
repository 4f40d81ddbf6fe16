"""What a hostile client may try. A module here has `CASES`: by name, what is done to a `Target` for a second or two.

What takes longer, or is one of many alike, is in `LONG_CASES`, and what only voters can be told in `QUORUM_CASES`: only
`make soak` tries these, and all others against three nodes, too.

A case fails by itself only where the node must give a certain answer. That others do not wait, and that the node's
memory stays where it was, is what `tests/robustness/test_one_client_hurts_nobody` looks at around each.
"""
