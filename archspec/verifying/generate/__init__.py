"""Configs to verify specs with: random ones, and ones for each branch and condition."""
