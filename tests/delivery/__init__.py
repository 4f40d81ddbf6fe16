"""The retry and dead letter policy, without anything around it."""
