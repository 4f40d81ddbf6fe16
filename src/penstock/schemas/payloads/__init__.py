"""Whether bytes are what a schema says: for each format a function from a schema to one from bytes to what is wrong.

Payloads come from strangers, and are read in a process that reads those of others, too: time, memory and depth are
bounded by the size of the payload.
"""
