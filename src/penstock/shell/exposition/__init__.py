"""What a node has counted, as Prometheus reads it: under the names that people chart already, and more of our own."""
