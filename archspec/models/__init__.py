"""What `archspec.load` gives."""
