"""What one gives up for what: a trade-off in each file, measured on three nodes; `docs/tradeoffs.md` reads them out."""
