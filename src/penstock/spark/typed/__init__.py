"""Typed columns: values that a schema registry's serialisers wrote become columns of their own types, and back."""
