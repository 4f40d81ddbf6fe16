"""JSON Schema: documents, what they refer to, and what changes from one to another."""
