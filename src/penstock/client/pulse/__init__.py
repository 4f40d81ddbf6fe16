"""How busy a cluster is: looks, and what changed between two of them. Shown by `penstock top`."""
