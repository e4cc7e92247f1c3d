"""The page of `skbench report` in headless Chromium, where there is one.

The accessibility checker is axe-core (``npm install axe-core``): its ``axe.min.js`` is looked for in
``node_modules``, or where ``SKBENCH_AXE`` says.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

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
    assert CliRunner().invoke(report, [str(LOGS), "--html", str(path)]).exit_code == 0
    return path


@pytest.fixture(scope="module")
def rich_page(tmp_path_factory):
    """Many models with long names, clear and open pairs, a group unlike its peers, thresholds."""
    folder = tmp_path_factory.mktemp("rich")
    items = make_items(n_models=9, n_topics=14, n_items=20, random_state=0).items
    items["score"] = (np.random.default_rng(0).random(len(items)) < 0.85).astype(int)
    odd = (items["model"] == "model-3") & (items["topic"] == "topic-05")
    items.loc[odd, "score"] = 0
    items.loc[items["model"] == "model-8", "score"] *= np.arange(len(items))[: odd.sum() * 14] % 2
    items["model"] = "an-organisation/with-a-long-name-" + items["model"]
    items.drop(columns="cluster").to_csv(folder / "rich.csv", index=False)
    path = folder / "report.html"
    arguments = [str(folder / "rich.csv"), "--html", str(path), "--fail-under", "0.6"]
    assert CliRunner().invoke(report, arguments).exit_code == 3
    assert " odd" in path.read_text()
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


def test_browser_finds_what_was_broken(page, tmp_path):
    faults = {
        "<script>console.error('out of order')</script>": "console: out of order",
        "<script>noSuchFunction()</script>": "noSuchFunction is not defined",
        "<a href='#no-such-heading'>more</a>": "has no heading #no-such-heading",
        "<a href='other.html'>more</a>": "there is no page other.html",
        "<p style='width: 900px'>wide</p>": "pixels wide on a telephone",
    }
    path = tmp_path / "report.html"
    path.write_text(page.read_text().replace("</body>", "".join(faults) + "</body>"))
    result = checked(path)
    assert [problem for problem in faults.values() if problem not in result.stdout] == []
    assert result.returncode == 1


def test_tables_sort_where_headings_are_clicked(browser, rich_page):
    tab = opened(browser, rich_page)
    tables = tab.locator("table.sortable").all()
    assert len(tables) == 4
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


def test_search_shows_the_same_in_map_and_table(browser, rich_page):
    tab = opened(browser, rich_page)
    assert shown(tab, "#groups tbody tr") == 9 * 14
    tab.fill("#topic-names", "TOPIC 05")
    tab.fill("#model-names", "long model-3")
    tab.wait_for_function("() => document.getElementById('count').textContent == '1 of 126 groups'")
    assert shown(tab, "#groups tbody tr") == shown(tab, "#heat tbody tr") == 1
    assert shown(tab, "#heat tbody td") == 1
    tab.locator("#heat tbody td:visible").hover()
    row = [cell.strip() for cell in tab.locator("#groups tbody tr:visible td").all_inner_texts()]
    topic, model, n, direct, estimate, low, high = row[:7]
    told = f"{model}, {topic}: {estimate} ({low} to {high}); own mean {direct} of n = {n}."
    assert tab.inner_text("#cell") == told
    for name in ("#topic-names", "#model-names"):
        tab.fill(name, "")
    tab.check("#odd")
    tab.wait_for_function("() => document.getElementById('count').textContent.startsWith('1 of')")
    tab.select_option("#pair-verdict", "better")
    tab.wait_for_function("() => document.getElementById('pair-count').textContent != ''")
    clear = tab.locator("#pairs tbody tr:visible").evaluate_all(
        "all => all.map(r => r.dataset.verdict)"
    )
    assert set(clear) == {"better"}
    assert tab.faults == []


def test_matrix_tells_the_pair_of_its_cell(browser, rich_page):
    tab = opened(browser, rich_page)
    for row, column in ((1, 2), (8, 1)):
        cell = tab.locator(f"#matrix tbody tr:nth-child({row}) td:nth-child({column + 1})")
        cell.hover()
        names = tab.locator("#matrix tbody th").all_inner_texts()
        told = tab.inner_text("#pair")
        assert names[row - 1] in told and names[column - 1] in told
        sign, first = cell.inner_text(), told.startswith(names[row - 1])
        word = {"+": "better", "−": "worse", "=": "tied"}[sign]
        turned = {"better": "worse", "worse": "better"}.get(word, word)
        assert f" is {word if first else turned} " in told


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
    assert not tab.locator(".filter").first.is_visible()


@pytest.mark.skipif(not AXE.exists(), reason="needs axe-core")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_no_serious_fault(browser, rich_page, size, scheme):
    tab = opened(browser, rich_page, size, scheme)
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
    assert CliRunner().invoke(report, [str(table), "--html", str(path)]).exit_code == 0
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
