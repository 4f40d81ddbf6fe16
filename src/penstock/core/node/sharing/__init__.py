"""Share groups at the leaders of partitions: who fetches, who acknowledges, and what is stored of it."""
