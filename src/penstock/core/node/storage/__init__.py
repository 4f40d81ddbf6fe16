"""The logs of this node: which partitions are here, whose they are, and what a disk did to them."""
