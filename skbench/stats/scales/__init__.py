"""Weighted scores over tasks: variances, normalization, weights."""
