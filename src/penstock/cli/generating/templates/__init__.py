"""Files that are given out as they stand, but for what stands in @AT@ signs."""
