"""Fixtures that the reader tests share."""

import pytest
from reading import write


@pytest.fixture
def written(tmp_path):
    """Write text to a file of the given name and return its path."""
    return lambda content, name="results.csv": write(tmp_path / name, content)
