"""Means of items that come in clusters or pairs."""
