"""Requests and responses, one module per API, named by it."""
