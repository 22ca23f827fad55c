"""Weight formats: how quantized weights are stored, by name and by a config's quantization keys."""
