"""Tests of `penstock.core.wire`: every message at every version, against a slow twin and three foreign codecs."""
