"""The simulator: the same node in a world made of one seed.

Time, disks, connections, worker processes and chance all come from here, so a run is a pure function of its seed
and its spec. `run.py` is the way in; `world.py` shows how the parts hold together.
"""
