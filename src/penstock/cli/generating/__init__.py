"""What runs beside a cluster: dashboards, rules, and files for whoever starts nodes. `templates` holds them."""
