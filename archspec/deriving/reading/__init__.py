"""The reading: constructors interpreted with a config whose fields carry expressions.

One machine (:class:`~archspec.deriving.reading.configs.Reader`), a class a stage; each stage knows those
before it, and names what it needs of later ones by methods that raise NotImplementedError.
"""
