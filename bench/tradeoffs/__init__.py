"""What one gives up for what: a trade-off in each file, measured on three nodes."""
