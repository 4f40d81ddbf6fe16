"""The console: a cluster in a browser. A client of the cluster in a process of its own; see docs/console.md."""
