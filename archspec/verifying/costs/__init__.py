"""Validation of costs against torch's count of transformers' code."""
