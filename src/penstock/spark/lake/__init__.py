"""A topic as a table: files that executors write, commits that the driver makes, and history joined with the log."""
