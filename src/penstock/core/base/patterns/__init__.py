"""Regular expressions that clients send: RE2's syntax, and a time to match that grows only with the text.

Python's own ones go back and try again: a short pattern can keep a node busy for years. These never go back, and what
they cost is bounded before the first character is read.
"""
