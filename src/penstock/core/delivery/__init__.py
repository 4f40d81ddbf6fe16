"""Delivery policies: what to do with a record that could not be handled. Sans-IO, for every driver alike."""
