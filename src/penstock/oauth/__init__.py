"""What signed tokens need of the world: the keys that check them, and, for clients, the tokens themselves."""
