"""Records that Kafka keeps in logs and files, in modules by what they are about."""
