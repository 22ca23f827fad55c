"""What differs between two models."""
