"""Replicated state machines: a request becomes (records, replies); replies wait for their records."""
