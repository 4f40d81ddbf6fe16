"""The share coordinator: how far share groups are in each partition (KIP-932).

One machine over one partition of `__share_group_state`, as groups have one over a partition of `__consumer_offsets`.
Whoever leads a partition that a share group reads keeps there what its members have acknowledged.
"""
