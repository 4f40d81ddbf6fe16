"""Clients, tools and a broker that we did not write, each against one running node."""
