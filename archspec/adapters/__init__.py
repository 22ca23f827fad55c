"""LoRA adapters as peft adds them to a model: tensors, counts and FLOPs."""
