"""The audit of guarantees: every public interval has a row, and the guarantees hold."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import printed
import promises

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found():
    return promises.verdicts(promises.audit(small=True))


def test_every_public_interval_has_a_row(found):
    rows = {name.split("(")[0].split(",")[0] for name in found["interval"]}
    public = set(promises.public_intervals())
    assert public - rows - set(promises.WITHOUT) == set()
    # Excused names exist and have no row.
    assert set(promises.WITHOUT) <= public - rows


def test_guarantees_for_each_group_hold(found):
    each = found[found["guarantee"].str.startswith("each group")]
    print(each.to_string())
    assert len(each) >= 15
    assert not (each["holds"] == "no").any()


def test_estimators_worse_than_the_direct_ones_are_listed(found):
    worse = found.loc[found["error"] > promises.MOST_ERROR, "interval"].str.split("(").str[0]
    assert set(worse) <= set(promises.WORSE_THAN_DIRECT)
    assert "MixedModel" not in promises.WORSE_THAN_DIRECT


def test_guaranteed_intervals_have_width(found):
    assert (found.loc[found["guarantee"] != "none", "no_width"] == 0).all()


def test_error_rates_of_commands_are_allowed():
    table = printed.printed(small=True)
    band = np.sqrt(table["allowed"] * (1 - table["allowed"]) / table["sets"])
    beyond = table["wrong"] > table["allowed"] + 3 * band
    assert table[beyond].empty, table[beyond]
    assert len(table) == len(printed.CORNERS) >= 20
