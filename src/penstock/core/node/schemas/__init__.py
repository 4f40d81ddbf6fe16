"""What this node knows of the registry's schemas: it folds their topic, wherever that is, and judges by it."""
