"""The facts in a text of a plot: its numbers, and the names before and in it."""

import re


def numbers(text):
    """Numbers of a text, such as [2.0, 4.0] of "2 of 4 groups"."""
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


def noted(notes):
    """Name before the colon and numbers of each note."""
    return [(note.split(":")[0] if ": " in note else "", numbers(note)) for note in notes]
