"""Intervals and variances of one mean: binomial, t, bounded, moderated, of part of a population."""
