"""Conversations that this node begins with others: one link for each peer and purpose."""
