"""Committed offsets: how far each group has read, whatever kind of group it is."""
