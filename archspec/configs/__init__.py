"""A user's config from any source, its fields with their values, and its problems."""
