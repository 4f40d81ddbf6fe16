"""Values in the bytes of their schema, and back; in front of them a registry's id."""
