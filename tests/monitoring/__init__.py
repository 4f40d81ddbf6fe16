"""What is shipped beside the nodes: dashboards, rules, units, held against the programs that read them."""
