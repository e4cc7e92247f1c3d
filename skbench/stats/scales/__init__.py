"""Weighted scores over tasks: variances, normalization and weights."""
