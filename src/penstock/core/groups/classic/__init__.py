"""Classic groups: members vote for a protocol, one of them assigns, the coordinator only keeps order.

`kind` is what a shard sees of them, `states` is the table, `group` and `member` the state, `rebalance` and `sessions`
the rules that several requests share, and one file per request holds the rest.
"""
