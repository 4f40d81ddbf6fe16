"""What the machines of `core.delivery.exactly_once` ask for, asked of a real cluster."""
