"""Batches of records: headers as views, records on demand, checksums, codecs, and what a leader accepts."""
