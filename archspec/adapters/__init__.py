"""Adapters as peft adds them to a model: tensors, counts and FLOPs."""
