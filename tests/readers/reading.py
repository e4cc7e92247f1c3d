"""What the reader tests share: the logs beside them, messages and notes."""

from pathlib import Path

import pytest

from skbench.readers import read_items

FOLDER = Path(__file__).parent / "fixtures"


def message(*args, **options):
    """The message of the ValueError that reading raises."""
    with pytest.raises(ValueError) as error:
        read_items(*args, **options)
    return str(error.value)


def notes_of(read):
    """All notes as one text."""
    return " | ".join(read.notes)
