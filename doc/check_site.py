"""Open every page of the built site, or a single page, in headless Chromium.

    python -m sphinx -b html doc doc/_build
    python doc/check_site.py doc/_build [folder for screenshots]

    skbench report results/ --html report.html
    python doc/check_site.py report.html [folder for screenshots]

Needs ``pip install playwright`` and Chromium, from the path or from playwright. The exit
code is 1 after console errors, failed requests within the site, links to missing pages or
headings, pictures that do not load, pages wider than a phone screen, and searches that do
not find their page.
"""

import functools
import http.server
import shutil
import sys
import threading
from pathlib import Path
from urllib.parse import quote, unquote, urldefrag

from playwright.sync_api import sync_playwright

SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
# Pages of the site for screenshots; without these pages, all pages get a screenshot.
SHOWN = ["index.html", "examples.html", "how_we_know.html", "comparison.html"]
# Search words, and the page of the user guide expected among the first three results.
SEARCHES = {
    "LLM judge": "judge_agreement",
    "LLM as a judge": "judge_agreement",
    "Cohen's kappa": "judge_agreement",
    "autorater": "prediction_powered",
    "ppi": "prediction_powered",
    "small area estimation": "fay_herriot",
    "shrinkage": "empirical_bayes",
    "partial pooling": "mixed_model",
    "multilevel": "mixed_model",
    "McNemar": "clustered_and_paired_comparisons",
    "clustered standard errors": "clustered_and_paired_comparisons",
    "sample size": "clustered_and_paired_comparisons",
    "power analysis": "clustered_and_paired_comparisons",
    "Elo": "votes",
    "win rate": "votes",
    "outlier": "mixed_model",
    "confidence interval accuracy": "direct",
    "error bars": "direct",
    "item response theory": "item_bank",
    "early stopping": "sequential",
    "fairness": "group_metrics",
    "flaky": "pass_at_k",
    "flaky test": "continuous_integration",
    "CI": "continuous_integration",
    "p-value": "clustered_and_paired_comparisons",
}
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
# The links, anchors and faults of a loaded page.
INSPECT = """() => ({
    links: [...document.querySelectorAll('a[href]')].map(a => a.href),
    anchors: [...document.querySelectorAll('[id]')].map(e => e.id),
    broken: [...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src),
    width: Math.max(
        document.documentElement.scrollWidth,
        ...[...document.querySelectorAll('.bd-content, .bd-article')].map(e => e.scrollWidth),
    ),
})"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


def serve(folder):
    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def visit(page, site, name, problems):
    """Return the links and anchors of a page; append its faults to the problems."""
    page.goto(f"{site}/{name}", wait_until="load")
    found = page.evaluate(INSPECT)
    problems += [f"{name}: picture {source} did not load" for source in found["broken"]]
    return found


def link_problems(site, pages, name, links):
    for link in links:
        target, anchor = urldefrag(link)
        if not target.startswith(site):
            continue
        path = unquote(target[len(site) + 1 :]) or "index.html"
        if path not in pages:
            if path.endswith((".html", "/")) or not path:
                yield f"{name}: missing page {path}"
        elif anchor and unquote(anchor) not in pages[path]["anchors"]:
            yield f"{name}: {path} has no heading #{anchor}"


def search_problems(page, site):
    for words, wanted in SEARCHES.items():
        page.goto(f"{site}/search.html?q={quote(words)}", wait_until="load")
        page.wait_for_function("document.querySelector('.search-summary')?.innerText")
        links = page.locator("ul.search > li > a").evaluate_all("found => found.map(a => a.href)")
        found = list(dict.fromkeys(urldefrag(link)[0].partition("?")[0] for link in links[:3]))
        if f"{site}/user_guide/{wanted}.html" not in found:
            short = ", ".join(link.removeprefix(site) for link in found)
            yield f'search.html: "{words}" finds {short or "nothing"} instead of {wanted}'


def pages_of(path):
    """Return the folder to serve and the names of its pages."""
    path = Path(path).resolve()
    if path.is_file():
        return path.parent, [path.name]
    names = sorted(page.relative_to(path).as_posix() for page in path.rglob("*.html"))
    return path, [name for name in names if not name.startswith("_static/")]  # parts of the theme


def main(path, screenshots=None):
    folder, names = pages_of(path)
    site, problems, pages = serve(folder), [], {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=ARGUMENTS
        )
        context = browser.new_context()
        # Requests to other hosts are blocked because the check covers only this site.
        context.route(lambda url: not url.startswith(site), lambda route: route.abort())
        page = context.new_page()
        name = ""
        page.on("pageerror", lambda error: problems.append(f"{name}: {error}"))
        page.on(
            "response",
            lambda answer: answer.status >= 400 and problems.append(f"{name}: {answer.url} failed"),
        )
        page.on(
            "console",
            lambda message: (
                message.type == "error"
                and message.location["url"].startswith(site)
                and problems.append(f"{name}: console: {message.text}")
            ),
        )
        page.set_viewport_size(dict(zip(("width", "height"), SIZES["phone"], strict=True)))
        for name in names:
            pages[name] = visit(page, site, name, problems)
            if pages[name]["width"] > SIZES["phone"][0]:
                problems.append(f"{name}: {pages[name]['width']} pixels wide on a phone")
        for name in names:
            problems += link_problems(site, pages, name, pages[name]["links"])
        if "search.html" in names:
            name = "search.html"
            problems += search_problems(page, site)
        if screenshots:
            shown = [name for name in SHOWN if name in names] or names
            take(browser, site, shown, Path(screenshots))
        browser.close()
    print("\n".join([*sorted(set(problems)), f"{len(names)} pages, {len(set(problems))} problems"]))
    return 1 if problems else 0


def take(browser, site, names, folder):
    """Take screenshots in desktop and phone size, in the light and the dark scheme."""
    folder.mkdir(parents=True, exist_ok=True)
    for scheme in ("light", "dark"):
        for size, (width, height) in SIZES.items():
            page = browser.new_page(
                viewport={"width": width, "height": height}, color_scheme=scheme
            )
            page.route(lambda url: not url.startswith(site), lambda route: route.abort())
            for name in names:
                page.goto(f"{site}/{name}", wait_until="load")
                page.screenshot(path=folder / f"{Path(name).stem}_{size}_{scheme}.png")
            page.close()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
