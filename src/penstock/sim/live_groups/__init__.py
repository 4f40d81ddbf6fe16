"""Live groups: members of both protocols that come, go, hang and come back, and what is promised to them."""
