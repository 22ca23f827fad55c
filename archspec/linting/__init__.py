"""Check spec files without a config."""
