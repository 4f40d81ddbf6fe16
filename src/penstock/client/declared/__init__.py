"""A cluster as a file says it should be: read with positions, compared with what there is, and made so."""
