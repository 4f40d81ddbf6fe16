"""The node: owns the machines, keeps what waits, and says what its world must do next."""
