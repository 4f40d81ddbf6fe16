"""The topic `_schemas`: its records, in Confluent's format, and the table that they fold to."""
