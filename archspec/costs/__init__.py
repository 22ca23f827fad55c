"""What a call costs: FLOPs by module, and the cache, from the same specs as the parameters."""
