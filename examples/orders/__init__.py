"""A food-delivery app on Penstock and Spark: one event per order, and everybody who must know reads the log.

Read in this order: `topics` (what exists), `traffic` (what comes in), `branches`, `analytics`, `confirmation` and
`status` (what is done with it: one pure function of frames per stage), `pipelines` (how it is put together). `story` is
what `make demo` shows; `orders.ipynb` walks through the stages by hand.
"""
