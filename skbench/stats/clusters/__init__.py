"""Means of clustered or paired items, and agreement of raters."""
