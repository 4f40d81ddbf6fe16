"""Counts of what brokers keep, from the headers of batches, and whether they add up: with each other, with what was
counted before, and with what pipelines say they did. Who reads asks brokers only as any consumer does."""
