"""How much a client may ask for: rates over Kafka's windows, whose quota is whose, and how long to rest."""
