"""What somebody needs to see who is asked for help: collected, bounded, and without secrets."""
