"""Raft: one log, several replicas, at most one leader for each epoch; KRaft's design and requests.

`raft` is the machine and its events, `decisions` what it wants done. `member` is a replica's place in the quorum and
`roles` the table of roles; `electing`, `leading`, `serving`, `following`, `changes` and `joining` are what a replica
does in them. `history` and `voters` know the voters, `snapshots` what stands below the log.
"""
