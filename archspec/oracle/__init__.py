"""What transformers builds; the only room that imports torch and transformers, but for derive."""
