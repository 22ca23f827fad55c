"""Reports on adapters of a model."""
