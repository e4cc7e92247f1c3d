"""The page of `skbench report` in headless Chromium, where there is one.

The accessibility checker is axe-core (``npm install axe-core``): its ``axe.min.js`` is looked for in
``node_modules``, or where ``SKBENCH_AXE`` says.
"""

import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import parsed, run

from skbench.datasets import make_items
from skbench.report.report import report

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
ROOT = Path(__file__).parents[2]
CHECK = ROOT / "doc" / "check_site.py"
LOGS = Path(__file__).parents[1] / "readers" / "fixtures" / "lm_eval" / "two_models"
AXE = Path(os.environ.get("SKBENCH_AXE", ROOT / "node_modules" / "axe-core" / "axe.min.js"))
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
SIZES = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}
PAPER = {"width": 1010, "height": 700}  # a sheet across, less its margins


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    assert run(report, LOGS, "--html", path).exit_code == 0
    return path


@pytest.fixture(scope="module")
def rich_page(tmp_path_factory):
    """Many models with long names, clear and open pairs, an outlying group, thresholds."""
    folder = tmp_path_factory.mktemp("rich")
    items = make_items(n_models=9, n_topics=14, n_items=20, random_state=0).items
    items["score"] = (np.random.default_rng(0).random(len(items)) < 0.85).astype(int)
    outlying = (items["model"] == "model-3") & (items["topic"] == "topic-05")
    items.loc[outlying, "score"] = 0
    items.loc[items["model"] == "model-8", "score"] *= (
        np.arange(len(items))[: outlying.sum() * 14] % 2
    )
    items["model"] = "an-organisation/with-a-long-name-" + items["model"]
    items.drop(columns="cluster").to_csv(folder / "rich.csv", index=False)
    path = folder / "report.html"
    arguments = (folder / "rich.csv", "--html", path, "--fail-under", "0.6")
    assert run(report, *arguments).exit_code == 3
    assert " outlying" in path.read_text()
    return path


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


def opened(browser, path, size="desktop", scheme="light"):
    tab = browser.new_page(viewport=SIZES.get(size, PAPER), color_scheme=scheme)
    tab.faults = []
    tab.on("pageerror", lambda error: tab.faults.append(str(error)))
    tab.on("console", lambda message: message.type == "error" and tab.faults.append(message.text))
    tab.on("request", lambda r: r.url.startswith("http") and tab.faults.append(r.url))
    tab.goto(path.as_uri())
    return tab


def checked(path):
    command = [sys.executable, CHECK, path]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_browser_finds_no_fault(page):
    result = checked(page)
    assert result.stdout == "1 pages, 0 problems\n"
    assert result.returncode == 0


def test_browser_finds_what_was_broken(page, written):
    faults = {
        "<script>console.error('out of order')</script>": "console: out of order",
        "<script>noSuchFunction()</script>": "noSuchFunction is not defined",
        "<a href='#no-such-heading'>more</a>": "has no heading #no-such-heading",
        "<a href='other.html'>more</a>": "page other.html",
        "<p style='width: 900px'>wide</p>": "pixels wide",
    }
    path = written(page.read_text().replace("</body>", "".join(faults) + "</body>"), "report.html")
    result = checked(path)
    assert [problem for problem in faults.values() if problem not in result.stdout] == []
    assert result.returncode == 1


def test_tables_sort_where_headings_are_clicked(browser, rich_page):
    tab = opened(browser, rich_page)
    tables = tab.locator("table.sortable:visible").all()
    assert len(tables) == 5
    for table in tables:
        heading = table.locator("th[data-kind=n]").last
        column = heading.evaluate("th => th.cellIndex + 1")
        cells = table.locator(f"tbody tr > :nth-child({column})")
        orders = []
        for _ in range(2):
            heading.locator("button").click()
            texts = [text.strip("!").replace(",", "") for text in cells.all_inner_texts()]
            orders.append([float(text) for text in texts if text not in ("", "unknown")])
        assert orders[0] == sorted(orders[0]) and len(orders[0]) > 1
        assert orders[1] == sorted(orders[0], reverse=True)
    assert tab.faults == []


def shown(tab, selector):
    return tab.locator(selector).evaluate_all("all => all.filter(e => e.offsetParent).length")


def search(tab, words, expected):
    """Search, and wait until the groups say how many of them are left."""
    tab.fill("#search", words)
    tab.wait_for_function(
        "text => document.getElementById('groups-count').textContent == text", arg=expected
    )


def test_one_search_filters_every_table(browser, rich_page):
    tab = opened(browser, rich_page)
    assert shown(tab, "#groups tbody tr") == 9 * 14
    search(tab, "TOPIC-05 long model-3", "1 of 126 rows")
    assert shown(tab, "#groups tbody tr") == shown(tab, "#heat tbody tr") == 1
    assert shown(tab, "#heat tbody td") == shown(tab, "#ranking tbody tr") == 1
    assert shown(tab, "#pairs tbody tr") == 8
    topics = tab.locator("#items-1 tbody td:nth-child(2)").all_text_contents()
    assert set(topics) == {"topic-05"}
    tab.locator("#heat tbody td:visible").hover()
    row = [cell.strip() for cell in tab.locator("#groups tbody tr:visible > *").all_text_contents()]
    topic, model, n, direct, estimate, low, high = row[:7]
    found = tab.text_content("#cell")
    for fact in (model, topic, f"{estimate} ({low} to {high})", f" {direct} ", f"n = {n}."):
        assert fact in found
    search(tab, "", "")
    tab.check("#outlying")
    assert tab.text_content("#groups-count") == "1 of 126 rows"
    tab.select_option("#pair-verdict", "better")
    clear = tab.locator("#pairs tbody tr").evaluate_all("all => all.map(r => r.dataset.verdict)")
    assert set(clear) == {"better"}
    tab.uncheck("#outlying")
    tab.fill("#search", "no-such-name")
    tab.wait_for_function("() => document.getElementById('found').textContent")
    assert "no-such-name" in tab.text_content("#found")
    assert shown(tab, "#groups tbody tr") == 9 * 14
    assert tab.faults == []


def test_search_for_an_item_that_a_model_got_right_lists_none(browser, rich_page):
    tab, answers = opened(browser, rich_page), scores_of(rich_page)
    model = tab.locator("#item-model option").first.text_content()
    for score, listed in ((1, 0), (0, 1)):
        tab.fill("#search", answers.index[answers[model] == score][0])
        tab.wait_for_function(
            "n => document.getElementById('items-1').tBodies[0].rows.length == n", arg=listed
        )


def scores_of(page):
    """Scores by item (rows) and model (columns), as in the file beside a page."""
    items = pd.read_csv(page.with_name("rich.csv"))
    return items.pivot(index="item", columns="model", values="score")


def listed_items(tab, id):
    return tab.locator(f"#{id} tbody th").all_text_contents()


def test_items_that_a_model_failed_are_listed(browser, rich_page):
    tab, answers = opened(browser, rich_page), scores_of(rich_page)
    for model in tab.locator("#item-model option").all_text_contents()[::4]:
        tab.select_option("#item-model", label=model)
        failed = answers.index[answers[model] == 0]
        assert sorted(listed_items(tab, "items-1")) == sorted(failed)
        assert f"{model} failed {len(failed)} of 280 " in tab.text_content("#items-note")
        in_topic = [item for item in failed if item.startswith("topic-05")]
        tab.select_option("#item-topic", label="topic-05")
        assert sorted(listed_items(tab, "items-1")) == sorted(in_topic)
        tab.select_option("#item-topic", label="all topics")
        others = answers.drop(columns=model).mean(axis=1)
        shares = tab.locator("#items-1 tbody td:last-child").all_text_contents()
        expected = others[listed_items(tab, "items-1")]
        assert [float(x) for x in shares] == pytest.approx(list(expected), abs=1e-4)
        assert shown(tab, "#items-2") == 0
    assert tab.faults == []


def test_items_on_which_two_models_differ_are_listed_both_ways(browser, rich_page):
    tab, answers = opened(browser, rich_page), scores_of(rich_page)
    tab.locator("#matrix tbody tr:nth-child(2) td:nth-child(6)").click()
    names = tab.locator("#matrix tbody th").all_text_contents()
    a, b = names[1], names[4]
    tab.click(f"text=Items on which {a} and {b} differ")
    assert tab.locator("#items h2").evaluate("e => e.getBoundingClientRect().top < innerHeight")
    better = answers.index[answers[a] > answers[b]]
    worse = answers.index[answers[a] < answers[b]]
    assert sorted(listed_items(tab, "items-1")) == sorted(better)
    assert sorted(listed_items(tab, "items-2")) == sorted(worse)
    counts = rf"{a} .*\b{len(better)}, {b} .*\b{len(worse)}, "
    text = tab.text_content("#items-note")
    assert re.search(counts, text) and text.endswith(f" {280 - len(better) - len(worse)}.")
    tab.locator("#heat tbody tr:nth-child(6) td:nth-child(2)").click()
    assert tab.text_content("#cell-items") == f"Items of {names[0]} in topic-05"
    assert tab.text_content("#items-1-title") == f"Failed by {names[0]}"
    assert tab.faults == []


def test_lowest_scores_come_first_where_scores_are_not_right_or_wrong(browser, tmp_path):
    items = make_items(n_models=2, n_topics=3, n_items=150, random_state=0).items
    items["score"] = np.random.default_rng(0).random(len(items))
    items.loc[5, "item"] = "</script><img src=x onerror=throw(1)>"
    items.to_csv(tmp_path / "shares.csv", index=False)
    path = tmp_path / "shares.html"
    assert run(report, tmp_path / "shares.csv", "--html", path).exit_code == 0
    tab = opened(browser, path)
    model = tab.locator("#item-model option").first.text_content()
    mine = items[items["model"] == model].sort_values("score")
    assert listed_items(tab, "items-1") == list(mine["item"][:200])
    assert tab.text_content("#items-1-count") == "first 200 of 450 rows; the CSV has all"
    saved = saved_table(tab, "items-1")
    assert list(saved["item"]) == list(mine["item"])
    np.testing.assert_array_equal(saved["score"], mine["score"])
    assert tab.faults == []


def saved_table(tab, id):
    """What the button beside a table saves."""
    with tab.expect_download() as waiting:
        tab.click(f".csv[data-of='{id}']")
    assert waiting.value.suggested_filename == f"{Path(tab.url).stem}.{id}.csv"
    return pd.read_csv(waiting.value.path())


def test_every_table_is_saved_as_it_is_shown_with_all_digits(browser, rich_page):
    tab = opened(browser, rich_page)
    document = parsed(report, rich_page.with_name("rich.csv"))
    ids = tab.locator("table:visible").evaluate_all("all => all.map(table => table.id)")
    assert ids == ["ranking", "matrix", "pairs", "heat", "groups", "items-1"]
    frames = {name: pd.DataFrame(document[name]) for name in ("groups", "models", "pairs")}
    groups = frames["groups"].rename(columns={"value": "estimate"})
    for id, expected, columns in (
        ("ranking", frames["models"].rename(columns={"value": "score"}), "model score low high n"),
        ("pairs", frames["pairs"].rename(columns={"value": "difference"}), "difference low high"),
        ("groups", groups, "topic model n direct estimate low high"),
    ):
        saved = saved_table(tab, id)
        assert "interval" not in saved
        names = columns.split()
        pd.testing.assert_frame_equal(
            saved[names], expected[names], check_dtype=False, rtol=1e-15, atol=0
        )
    heat = saved_table(tab, "heat").melt("topic", var_name="model").set_index(["topic", "model"])
    expected = groups.set_index(["topic", "model"])["estimate"]
    pd.testing.assert_series_equal(
        heat["value"].sort_index(), expected.sort_index(), check_names=False, rtol=1e-15
    )
    verdicts = saved_table(tab, "matrix").set_index("model").stack().dropna()
    for row in document["pairs"]:
        assert verdicts[row["model_a"], row["model_b"]] == row["verdict"]
    search(tab, "topic-05", "9 of 126 rows")
    tab.locator("#groups th button").nth(4).click()
    saved = saved_table(tab, "groups")
    assert set(saved["topic"]) == {"topic-05"} and saved["estimate"].is_monotonic_increasing
    assert tab.faults == []


def test_matrix_shows_the_pair_of_its_cell(browser, rich_page):
    tab = opened(browser, rich_page)
    for row, column in ((1, 2), (8, 1)):
        cell = tab.locator(f"#matrix tbody tr:nth-child({row}) td:nth-child({column + 1})")
        cell.hover()
        names = tab.locator("#matrix tbody th").all_inner_texts()
        pair = tab.inner_text("#pair")
        assert names[row - 1] in pair and names[column - 1] in pair
        sign, first = cell.inner_text(), pair.startswith(names[row - 1])
        word = {"+": "better", "−": "worse", "=": "tied"}[sign]
        turned = {"better": "worse", "worse": "better"}.get(word, word)
        assert f" is {word if first else turned} " in pair


@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_wider_than_the_window(browser, rich_page, size):
    tab = opened(browser, rich_page, size)
    wide = tab.evaluate(
        """() => [...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll, .unseen')
            && (e.getBoundingClientRect().right > innerWidth + 1
                || getComputedStyle(e).overflowX == 'visible' && e.scrollWidth > e.clientWidth + 1
                   && e.clientWidth && getComputedStyle(e).display == 'block'))
            .map(e => e.outerHTML.slice(0, 80))"""
    )
    assert wide == [] and tab.faults == []


@pytest.mark.parametrize("table", ["ranking", "pairs", "groups", "items-1"])
def test_names_and_estimates_stay_in_sight_on_a_phone(browser, rich_page, table):
    tab = opened(browser, rich_page, "phone")
    for far in (0, 60, 10_000):
        edges = tab.evaluate(
            """([id, far]) => {
                const table = document.getElementById(id), scroll = table.closest('.scroll');
                scroll.scrollIntoView();
                scroll.scrollLeft = far;
                const cells = [...table.tBodies[0].rows[0].querySelectorAll('.name, .estimate')];
                return cells.map(cell => {
                    const { left, right, top } = cell.getBoundingClientRect();
                    const seen = document.elementFromPoint((left + right) / 2, top + 8);
                    return [left, right, cell.contains(seen)];
                });
            }""",
            [table, far],
        )
        assert len(edges) == {"ranking": 2, "items-1": 2}.get(table, 3)
        assert all(left >= 0 and right <= 390 and seen for left, right, seen in edges), edges
        assert all(a[1] <= b[0] + 1 for a, b in itertools.pairwise(edges)), edges
    assert tab.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_paper_is_white_and_cuts_nothing(browser, rich_page, scheme):
    tab = opened(browser, rich_page, "paper", scheme)
    tab.emulate_media(media="print")
    cut = tab.evaluate(
        """() => [...document.querySelectorAll('.scroll')]
            .filter(e => e.scrollWidth > innerWidth || e.scrollHeight > e.clientHeight + 1)
            .map(e => [e.ariaLabel, e.scrollWidth, innerWidth, e.scrollHeight, e.clientHeight])"""
    )
    assert cut == []
    white = "getComputedStyle(document.body).backgroundColor"
    assert tab.evaluate(white) == "rgb(255, 255, 255)"
    for hidden in (".filter", ".search", ".csv", "#items"):
        assert not tab.locator(hidden).first.is_visible()


@pytest.mark.skipif(not AXE.exists(), reason="needs axe-core")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_no_serious_fault(browser, rich_page, size, scheme):
    tab = opened(browser, rich_page, size, scheme)
    tab.select_option("#item-other", index=2)
    # Sections out of sight are not laid out, and would not be looked at.
    tab.add_style_tag(content="section { content-visibility: visible !important }")
    tab.evaluate(AXE.read_text())
    found = tab.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
    faults = [
        (fault["id"], fault["nodes"][0]["html"][:120], fault["nodes"][0]["failureSummary"][:200])
        for fault in found
    ]
    assert faults == []


@pytest.mark.slow
def test_sixty_models_on_sixty_topics_open_in_two_seconds(browser, tmp_path):
    items = make_items(n_models=60, n_topics=60, n_items=10, random_state=0).items
    table, path = tmp_path / "large.csv", tmp_path / "large.html"
    items.to_csv(table, index=False)
    assert run(report, table, "--html", path).exit_code == 0
    for size in SIZES:
        tab = browser.new_page(viewport=SIZES[size])
        session = tab.context.new_cdp_session(tab)
        session.send("Performance.enable")
        tab.goto(path.as_uri())
        tab.evaluate(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )
        # Time of the thread that builds the page, which other work of the machine does not lengthen.
        metrics = session.send("Performance.getMetrics")["metrics"]
        assert {m["name"]: m["value"] for m in metrics}["ThreadTime"] < 2
        assert tab.evaluate("document.documentElement.scrollWidth") == SIZES[size]["width"]


@pytest.mark.slow
def test_a_million_scores_stay_within_five_megabytes(browser, tmp_path):
    rng = np.random.default_rng(0)
    names = [f"item-{i:06d}" for i in range(200_000)]
    ease = rng.beta(2, 1, len(names))
    wide = pd.DataFrame({f"model-{m}": rng.random(len(names)) < ease for m in range(5)}).astype(int)
    wide.insert(0, "item", names)
    wide.to_csv(tmp_path / "wide.csv", index=False)
    path = tmp_path / "report.html"
    arguments = (tmp_path / "wide.csv", "--models", "model-*", "--html", path)
    assert run(report, *arguments).exit_code == 0
    assert path.stat().st_size <= 5_000_000
    everything = pd.read_csv(tmp_path / "report.items.csv").set_index("item")
    pd.testing.assert_frame_equal(
        everything.sort_index()[wide.columns[1:]], wide.set_index("item"), check_like=True
    )
    tab = opened(browser, path)
    tab.select_option("#item-model", label="model-3")
    tab.select_option("#item-other", label="model-1")
    assert "report.items.csv" in tab.text_content("#items-left-out")
    better = (wide["model-3"] > wide["model-1"]).sum()
    assert re.search(rf"model-3 .*\b{better:,}, ", tab.text_content("#items-note"))
    assert tab.faults == []
