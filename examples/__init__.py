"""Programs to read and to run: `broker_demo` (a node alone), `semantics` (at most once and its siblings) and `orders`
(a node with Spark's pipelines)."""
