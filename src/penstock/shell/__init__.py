"""The shell: the only place for asyncio, sockets, threads, worker processes, files and clocks. It performs what the
core decides, and decides nothing itself."""
