"""One partition's records on disk, in Kafka's files: segments, indexes, producer state, epochs, recovery, retention."""
