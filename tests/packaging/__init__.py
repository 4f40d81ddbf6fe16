"""What people install: the wheel, and what its metadata asks for."""
