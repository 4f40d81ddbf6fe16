"""What `penstock query` does: topics become tables of an embedded DuckDB, which read as far as a statement asks."""
