"""Groups whose assignment the coordinator makes (KIP-848): members send heartbeats, and are told what is theirs."""
