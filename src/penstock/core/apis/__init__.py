"""The APIs: one file per API key, each with its versions and its handler. They hold no state."""
