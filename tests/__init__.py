"""The tests, one folder per package. Shared helpers are imported by their full name, as in `tests.kafka_peer`."""
