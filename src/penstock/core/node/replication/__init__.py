"""Following: the fetchers of this node, and what is asked of other brokers for its partitions."""
