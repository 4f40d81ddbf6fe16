"""`format("penstock")` for reading: options become a plan of offset ranges, and each range a task for an executor."""
