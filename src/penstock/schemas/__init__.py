"""Schemas of Avro, JSON Schema and Protobuf, and whether one may follow another. No files, no sockets."""
