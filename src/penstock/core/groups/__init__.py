"""Groups and their offsets: one machine per partition of `__consumer_offsets`.

`shard` is the machine, a router over `kinds` of groups and the `offsets` that all of them have; `table` holds the
groups, `routing` says which shard a group belongs to, `fanout` serves requests that concern many. A kind is a package
beside `classic` and an entry in `shard.KINDS`.
"""
