"""TLS on the standard library: what Kafka's settings say becomes contexts, for nodes and for clients."""
