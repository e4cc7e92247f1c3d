"""`skbench report --cost`: the same as `tradeoff`, in words, tables, JSON and on the page."""

import numpy as np
import pytest
from commands import parsed, run

from skbench import make_items, tradeoff
from skbench.report.report import report


@pytest.fixture
def file(tmp_path):
    items = make_items(n_models=4, n_topics=3, n_items=40, random_state=0).items
    rate = items["model"].map({"model-0": 1, "model-1": 9, "model-2": 4, "model-3": 2})
    noise = np.random.default_rng(0).lognormal(0, 0.5, len(items))
    items = items.assign(**{"usage.total_tokens": rate * 100 * noise, "latency_ms": 7.0})
    items.to_csv(tmp_path / "r.csv", index=False)
    return tmp_path / "r.csv", items


def test_report_says_what_tradeoff_says(file, tmp_path):
    path, items = file
    page = tmp_path / "r.html"
    told = parsed(report, path, "--cost", "usage.total_tokens", "--html", page)
    expected = tradeoff(items, cost="usage.total_tokens")
    table = expected.to_frame()
    assert told["tradeoff"]["sentences"] == expected.sentences()
    assert expected.sentences()[0] in told["headline"]
    found = told["tradeoff"]["models"]
    assert [row["dominated_by"] for row in found] == table["dominated_by"].tolist()
    assert any(row["dominated"] for row in found)
    for name in ("cost", "cost_low", "cost_high", "score_low"):
        np.testing.assert_allclose([row[name] for row in found], table[name], rtol=1e-9)
    assert "Score and cost" in page.read_text()
    out = run(report, path, "--cost", "usage.total_tokens")
    assert "Score and cost" in out.stdout and "not used: usage.total_tokens" not in out.stderr
    assert parsed(report, path)["tradeoff"] is None


def test_cost_without_a_column_lists_some(file):
    out = run(report, file[0], "--cost")
    assert out.exit_code == 1
    assert "--cost usage.total_tokens" in out.stderr and "--cost latency_ms" in out.stderr
    out = run(report, file[0], "--cost", "latency")
    assert out.exit_code == 1 and "Did you mean 'latency_ms'" in out.stderr
