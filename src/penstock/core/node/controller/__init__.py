"""The controller on its node: active while this node leads the metadata log, and only then.

What it decides are `core/metadata`'s pure functions. This package gives them time, the newest image and a log.
"""
