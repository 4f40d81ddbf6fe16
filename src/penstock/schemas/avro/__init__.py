"""Avro: schemas, and whether a reader's schema resolves what another one wrote."""
