"""A client for programs of our own: plain blocking sockets over `core.peer`, routing, reading, producing, admin."""
