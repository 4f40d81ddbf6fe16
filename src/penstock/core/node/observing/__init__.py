"""What a person sees of a node: metrics, health, log levels."""
