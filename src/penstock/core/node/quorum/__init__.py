"""The metadata quorum on this node: Raft's decisions performed, submissions committed, images folded and published.

`quorum` is what the node uses. `opening` brings it up from its folder, `driver` performs what Raft decides, `answering`
reads what answers carry; `submissions` are a leader's decisions on their way. `state_file`, `raft_log` and
`snapshot_files` are what lies on the disk, `snapshotting` says when; `identity` reads the settings.
"""
