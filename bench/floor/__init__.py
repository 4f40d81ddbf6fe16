"""The C floor: how fast any broker with one thread could be on this machine."""
