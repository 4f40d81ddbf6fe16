"""What every other package stands on: ports to the outside, steps, errors and settings."""
