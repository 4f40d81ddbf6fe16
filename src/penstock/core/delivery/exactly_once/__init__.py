"""The commit protocol of an exactly-once sink whose tasks fill transactions and whose driver ends them. Sans-IO.

`driver` and `tasks` are the two sides; what they ask for is in `asks`; whoever performs it is somebody else: Spark's
processes, programs of the simulator, or a model that tries every order of events.
"""
