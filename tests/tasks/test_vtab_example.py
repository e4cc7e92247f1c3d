"""The VTAB example prints the facts that the page on the task bootstrap states."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "doc" / "user_guide" / "task_bootstrap_and_aggregation.rst"
SCRIPT = ROOT / "examples" / "plot_vtab_end_to_end.py"
FACTS = ["0.01 points", "75%", "24%", "1%", "Sup-Exemplar-100%", "Sup-Rotation-100%", "Rotation"]


def test_the_page_states_the_facts():
    page = " ".join(PAGE.read_text().split())
    assert all(fact in page for fact in FACTS)


@pytest.mark.slow
def test_the_script_prints_the_facts():
    """Runs the example: ten seconds."""
    process = subprocess.run(
        [sys.executable, str(SCRIPT)],
        env=os.environ | {"MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert all(fact in process.stdout for fact in FACTS)
    rows = [line.split() for line in process.stdout.splitlines()]
    # Rank by mean and normalized mean, average rank, consensus, rank set, letters.
    assert ["Sup-Exemplar-100%", "2.0", "2.0", "3.9", "1", "1-2", "a"] in rows
    assert ["Rotation", "6.0", "6.0", "4.9", "6", "6-6", "d"] in rows
    assert ["WAE-GAN", "16.0", "16.0", "14.4", "16", "15-16", "l"] in rows
    # Accuracy in points: the three categories, and means with equal weights of both kinds.
    assert ["Rotation", "53.7", "78.6", "57.3", "60.4", "63.2"] in rows
