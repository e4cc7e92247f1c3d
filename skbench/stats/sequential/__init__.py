"""Inference that is valid whenever one looks."""
