"""The writing: what was read becomes modules of a spec, then its config section, then lines of YAML."""
