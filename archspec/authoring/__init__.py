"""What authors of specs ask for: specs held to code, and drafted from it, as functions with their reports."""
