"""Reading topics: from options to plans without Spark, and whole queries with it."""
