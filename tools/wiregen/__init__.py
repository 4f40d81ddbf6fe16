"""Makes the message declarations of `penstock.core.wire` from Kafka's protocol definitions (a tool for development)."""
