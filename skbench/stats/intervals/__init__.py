"""Intervals and variances of one mean: binomial, t, bounded, moderated, finite population."""
