"""The rules of the house, as tests: what may import what, how long a thing may be, and what no file may say.

Each rule is a pure function from source text to complaints, tested on planted violations, then run over the tree.
"""
