"""Tools for those who write specs; not part of the package that users install."""
