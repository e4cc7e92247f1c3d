"""Notebooks: every result and every estimator as HTML."""

import configparser
import inspect
import re
import sys
import warnings
from email.message import Message
from functools import cache
from html.parser import HTMLParser
from importlib import metadata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler
from test_doc import listed_names

import skbench as sb
from skbench import _documented, readers

ROOT = Path(__file__).parents[1]
ROOMS = [value for name in sb.__all__ if inspect.ismodule(value := getattr(sb, name))]
PLAIN = {"plot", "stats"}  # rooms of pictures and of tuples of numbers
HOSTILE = "<script>alert('$x$ & ') </script>"


def own_classes():
    """All classes of the package by name, of which type checkers alone import some."""
    modules = [module for name, module in sys.modules.items() if name.startswith("skbench.")]
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if inspect.isclass(value) and value.__module__.startswith("skbench.")
    }


def returned_by(value, known):
    """Classes that a public function, or the public methods and fields of a class, give back."""
    inside = vars(inspect.getmodule(value))
    texts = []
    functions = [value]
    if inspect.isclass(value):
        texts += inspect.get_annotations(value).values()
        members = [inspect.getattr_static(value, name) for name in dir(value) if name[0] != "_"]
        functions = [getattr(m, "__func__", getattr(m, "fget", m)) for m in members]
    for function in functions:
        annotations = getattr(inspect.unwrap(function), "__annotations__", {})
        texts.append(annotations.get("return", ""))
    words = [word for text in texts for word in re.findall(r"\w+", str(text))]
    found = [value if word == "Self" else inside.get(word, known.get(word)) for word in words]
    return {c for c in found if c in known.values()}


def results():
    """Every class that something public returns, and what these have inside."""
    known = own_classes()
    ahead = [
        getattr(room, name)
        for room in ROOMS
        if room.__name__.split(".")[1] not in PLAIN
        for name in getattr(room, "__all__", dir(room))
        if callable(getattr(room, name)) and name[0] != "_"
    ]
    seen = set()
    while ahead:
        new = returned_by(ahead.pop(), known) - seen
        seen |= new
        ahead += new
    return {
        c
        for c in seen
        if c.__module__.split(".")[1] not in PLAIN and not getattr(c, "_is_protocol", False)
    }


@cache
def examples():
    """A result of every class, of models with hostile names."""
    items = sb.make_items(3, 4, 40, random_state=0).items
    items = items.replace({"model": {"model-0": HOSTILE}})
    cells = ["model", "topic"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        g = sb.summarize_items(items, cells)
        fitted = sb.MixedModel().fit(**g.fit_args)
        draws = fitted.sample(50, random_state=0)
        direct = {HOSTILE: sb.DirectEstimator(), "JS": sb.JamesStein()}
        study = sb.RepeatedSamplingStudy(direct, 5, n_repeats=1, random_state=0).run(items)
        compared = sb.compare_estimators(direct, items, cells, safest="JS", n_splits=2)
        bank = sb.ItemBank(random_state=0).fit(items)
        sequential = sb.SequentialMean(target=0.9, max_items=200)
        sequential.update([0, 1] * 20, range(40))
        judged = sb.make_judged_items(n_groups=1, n_items=200, n_labeled=60, random_state=0).items
        judged = judged.rename(columns={"autorater": HOSTILE})
        texts = items.drop_duplicates("item").assign(text=lambda d: d["item"].astype(str) + " a b")
        runs = pd.concat([items.assign(run=run) for run in range(3)])
        scores = items.pivot_table(index="model", columns="topic", values="score")
        costs = items.assign(cost=np.arange(len(items)) % 7 + 1.0)
        found = [
            g,
            g.sampling,
            draws,
            fitted.estimate(),
            study,
            compared,
            compared.risk,
            sb.items_needed(bank, 0.2, n_models=1, random_state=0),
            sb.item_audit(items),
            sb.leaderboard(items),
            sb.extremes(draws, "model"),
            sb.gate(items, HOSTILE, "model-1", margin=0.05),
            sb.kemeny_order(scores),
            sb.compare_models(items),
            sb.pass_at_k(runs, 2),
            sb.rank_confidence_sets(scores.mean(axis=1), [0.01] * 3),
            sequential,
            sequential.result,
            sb.SequentialComparison(),
            sb.tradeoff(costs),
            sb.trend(items, [HOSTILE, "model-1", "model-2"]),
            sb.make_items(3, 4, 20, random_state=0),
            sb.judge_agreement(judged, judges=[HOSTILE], random_state=0),
            sb.cluster_items(texts, n_clusters=2, min_items=1, random_state=0),
            readers.ItemRows(items, {}, [f"a note on {HOSTILE}"]),
        ]
    return {type(result).__name__: result for result in found}


class Read(HTMLParser):
    """The words and tags of a page."""

    def __init__(self, html):
        super().__init__()
        self.words, self.tags = set(), set()
        self.feed(html)

    def handle_data(self, data):
        self.words |= set(data.split())

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)


RESULTS = results()
OWN = sorted(c.__name__ for c in RESULTS if not issubclass(c, (BaseEstimator, pd.DataFrame)))


def test_every_result_prints_itself_as_html():
    assert [c.__name__ for c in RESULTS if not hasattr(c, "_repr_html_")] == []
    assert sorted(examples()) == OWN
    assert len(OWN) >= 25


@pytest.mark.parametrize("name", OWN)
def test_html_has_the_words_of_the_text_and_nothing_that_runs(name):
    html = examples()[name]._repr_html_()
    read = Read(html)
    assert read.words == set(repr(examples()[name]).split())
    assert read.tags <= {"div", "p", "br", "table", "thead", "tbody", "tr", "th", "td"}
    assert "color" not in html


def test_names_in_html_are_escaped_and_whole():
    for name in ("Estimate", "Leaderboard", "JudgeAgreement", "GateResult", "ItemRows"):
        assert "&lt;script&gt;alert(" in examples()[name]._repr_html_()
    label = "x" * 200
    long = sb.Estimate([0.5], [0.4], [0.6], [0.05], 0.95, pd.Index([label]), "m", "none")
    assert label in long._repr_html_()  # pandas cuts at 50


def estimators():
    classes = [getattr(sb, name) for name in sb.__all__]
    return [c for c in classes if inspect.isclass(c) and issubclass(c, BaseEstimator)]


@pytest.fixture
def installed(monkeypatch):
    """A function that sets the metadata of the installed package: None: there is none."""

    def install(urls):
        def metadata_of(name):
            if urls is None:
                raise metadata.PackageNotFoundError(name)
            message = Message()
            for url in urls:
                message["Project-URL"] = url
            return message

        monkeypatch.setattr(_documented, "metadata", metadata_of)
        _documented.documentation.cache_clear()

    yield install
    _documented.documentation.cache_clear()


@pytest.mark.parametrize("kind", estimators(), ids=lambda kind: kind.__name__)
def test_boxes_of_estimators_link_to_their_pages(kind, installed):
    installed(["Source, https://code.example.org", "Documentation, https://doc.example.org/sb/"])
    steps = [("scale", StandardScaler()), ("estimate", sb.EmpiricalBayes())]
    needed = {sb.IntervalPipeline: [steps], sb.MonteCarloPPI: [{}, np.mean]}
    estimator = kind(*needed.get(kind, []))
    links = re.findall(r'href="([^"#]*)"', estimator._repr_html_())
    start, end = "https://doc.example.org/sb/latest/api/generated/", ".html"
    assert links[0].startswith(start) and links[0].endswith(end)
    pages = {link.removeprefix(start).removesuffix(end) for link in links if link.startswith(start)}
    assert f"skbench.{kind.__name__}" in pages <= listed_names()
    # What is not public has no page: no link leads astray.
    assert all(link.startswith((start, "https://scikit-learn.org/")) for link in links if link)


def test_boxes_have_no_link_where_the_metadata_names_no_documentation(installed):
    for urls in (None, [], ["Source, https://code.example.org"]):
        installed(urls)
        assert 'href="http' not in sb.EmpiricalBayes()._repr_html_()


def test_documentation_is_named_in_the_metadata():
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "setup.cfg")
    assert "\nDocumentation = https://" in config["metadata"]["project_urls"]
