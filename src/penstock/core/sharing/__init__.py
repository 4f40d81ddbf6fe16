"""Share partitions (KIP-932): what of a partition is out with the members of a share group, and how often it was."""
