"""GGUF files, as llama.cpp converts and quantizes models."""
