"""The synchronous core: events in, decisions out.

Nothing in here is async, opens a socket, starts a thread, reads the clock or rolls dice; that is what lets the same
code run in production and in the simulator. The packages stand in layers, and a test holds their import direction.
"""
