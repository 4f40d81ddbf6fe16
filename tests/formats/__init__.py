"""Files that others have written open here, and ours open there."""
