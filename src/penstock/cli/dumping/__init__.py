"""What `penstock storage dump` shows: the files of a partition, batch by batch, record by record, entry by entry."""
