"""Groups and their offsets: one machine per partition of `__consumer_offsets`.

`shard` is the machine, `routing` says which one a group belongs to, `fanout` serves requests that concern many.
`classic` and `offsets` hold the rules; further kinds of groups (see `kinds`) stand beside `classic`.
"""
