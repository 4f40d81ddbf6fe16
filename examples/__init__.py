"""Programs to read and to run: `broker_demo` (a node alone) and `orders` (a node with Spark's pipelines)."""
