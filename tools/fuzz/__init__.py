"""Random command lines over all verbs: no line may end in a traceback, a bug, or a NaN."""
