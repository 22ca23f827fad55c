"""What users have: a config from anywhere, its fields with their values, and what is wrong with it."""
