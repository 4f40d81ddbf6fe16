"""Protobuf: .proto files, and whether one may follow another."""
