"""Tests of the image and of what the controller decides on it."""
