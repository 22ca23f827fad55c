"""Random command lines over all verbs: none may end in a traceback, a bug, or a number that is none."""
