"""Encryption at rest: the format of a sealed file, and whose key opens it. No IO: bytes are given, or asked for."""
