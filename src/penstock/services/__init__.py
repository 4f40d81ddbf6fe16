"""What stands around the broker: each service is a client of it, in a process of its own."""
