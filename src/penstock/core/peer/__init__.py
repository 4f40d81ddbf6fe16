"""The near end of a connection to another node: what to send, what came back, which versions both sides speak."""
