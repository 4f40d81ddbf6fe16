"""SASL's mechanisms as machines: a token in, a token out, and at the end who it is."""
