"""Backups of a running cluster: what they hold, how they are written and verified, and data folders made of them."""
