"""The page of `skbench report` in headless Chromium, where there is one."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from skbench.report.report import report

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
CHECK = Path(__file__).parents[2] / "doc" / "check_site.py"
LOGS = Path(__file__).parents[1] / "readers" / "fixtures" / "lm_eval" / "two_models"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    assert CliRunner().invoke(report, [str(LOGS), "--html", str(path)]).exit_code == 0
    return path


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
        "<img src='picture.png'>": "picture.png did not load",
        "<p style='width: 900px'>wide</p>": "pixels wide on a telephone",
    }
    path = tmp_path / "report.html"
    path.write_text(page.read_text().replace("</body>", "".join(faults) + "</body>"))
    result = checked(path)
    assert [problem for problem in faults.values() if problem not in result.stdout] == []
    assert result.returncode == 1


def test_tables_sort_where_headings_are_clicked(page):
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = browser.new_page()
        tab.goto(page.as_uri())
        for table in tab.locator("table").all():
            heading = table.locator("th[data-kind=n]").last
            column = heading.evaluate("th => th.cellIndex + 1")
            cells = table.locator(f"tbody td:nth-child({column})")
            orders = []
            for _ in range(2):
                heading.locator("button").click()
                texts = cells.all_inner_texts()
                orders.append([float(text) for text in texts if text != "unknown"])
            assert sorted(orders[0]) in orders
            assert sorted(orders[0], reverse=True) in orders
        browser.close()
