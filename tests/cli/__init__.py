"""Tests of `penstock.cli`: what a person types, what they see, and what is left in the folder."""
