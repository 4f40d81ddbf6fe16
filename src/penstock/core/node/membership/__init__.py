"""A node in its cluster: registration, heartbeats, the way to the active controller, forwarding."""
