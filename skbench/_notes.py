"""Notes on how data was read, each with its importance for the reader."""

# From the most to the least important. Commands print the most important notes.
LOST = 0  # data skipped, excluded or doubtful
CHOICE = 1  # a decision that the user can change
SUMMARY = 2  # the size of the data, files written
ROUTINE = 3  # which column was taken for what


class Note(str):
    """A text with its importance, `CHOICE` unless another is given.

    >>> Note("2 scores are missing and were skipped", LOST).importance
    0
    """

    importance = CHOICE

    def __new__(cls, text, importance=CHOICE):
        note = super().__new__(cls, text)
        note.importance = importance
        return note
