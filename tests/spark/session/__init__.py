"""Sessions: which Java, which settings, which files."""
