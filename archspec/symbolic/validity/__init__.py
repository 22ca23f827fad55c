"""The conditions that a closed form relies on, in a form that a program can check."""
