"""Share groups (KIP-932): members that read the same partitions, as many of them as there are."""
