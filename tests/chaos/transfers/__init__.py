"""Money moves between accounts, exactly once, while nodes die.

Orders lie in one topic, a partition for each teller. A teller reads some, and for each of them writes two entries into
the ledger, what one account loses and what another gains; the entries and its place in the orders are one transaction.
"""
