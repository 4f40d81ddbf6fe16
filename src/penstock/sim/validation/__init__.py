"""Clusters with topics that demand schemas: what does not fit is refused or diverted, whatever happens meanwhile."""
