"""Tensors of checkpoint files, read from headers only; nothing in a file is executed."""
