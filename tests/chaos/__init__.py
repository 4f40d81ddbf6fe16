"""Real nodes, real faults, real clients: what the simulator cannot show, because here the system is the real one."""
