"""The transaction coordinator: who may write under a transactional id, what belongs to its transaction, how that ends.

One machine over one partition of `__transaction_state`, as groups have one over a partition of `__consumer_offsets`.
"""
