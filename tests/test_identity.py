"""Topic and item identify an item; ids may repeat in other topics."""

import inspect
import json
import re
from importlib import import_module
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from report.commands import run
from walks import one_in

import skbench
from skbench import (
    DirectEstimator,
    ItemBank,
    JamesStein,
    RepeatedSamplingStudy,
    TaskBootstrap,
    UnitLevelModel,
    betting_estimate,
    choose_items,
    compare_estimators,
    compare_models,
    estimated_risk,
    gate,
    item_audit,
    item_correlation,
    items_needed,
    leaderboard,
    pass_at_k,
    position_bias,
    sample_items,
    summarize_items,
    tradeoff,
    trend,
)
from skbench.items.rows import joined

MODELS, N_TOPICS, N_ITEMS = ["new", "old", "other"], 8, 10


def answers(models=MODELS, runs=1, seed=0):
    """Rows of items whose numbers restart in every topic, with two topics per subject."""
    rng = np.random.default_rng(seed)
    index = [models, range(N_TOPICS), range(N_ITEMS), range(runs)]
    rows = pd.MultiIndex.from_product(index, names=["model", "topic", "item", "run"])
    rows = rows.to_frame(index=False)
    easy = rng.normal(0, 1.5, (N_TOPICS, N_ITEMS))[rows["topic"], rows["item"]]
    score = rng.random(len(rows)) < 1 / (1 + np.exp(-easy - rows["topic"] / 8))
    passage = "p" + (rows["topic"] // 4).astype(str) + (rows["item"] // 3).astype(str)
    return rows.assign(
        score=score * 1.0,
        subject="s" + (rows["topic"] // 2).astype(str),
        topic="t" + rows["topic"].astype(str),
        passage=passage,
    )


def made_unique(rows):
    """The same rows with the topic as a prefix of each id."""
    return rows.assign(item=rows["topic"] + "/" + rows["item"].astype(str))


def gaps(rows):
    """Rows without some answers."""
    return rows[np.random.default_rng(1).random(len(rows)) > 0.2]


def bank_of(rows):
    """A bank of other models on the same items with the same ids."""
    past = answers([f"m{i}" for i in range(6)], seed=5)
    return ItemBank().fit(past if rows["item"].dtype.kind == "i" else made_unique(past))


def counts_of(rows):
    """One row per model and item, with counts of correct answers."""
    keys = ["model", "topic", "subject", "passage", "item"]
    found = rows.groupby(keys)["score"].agg(n_correct="sum", n_runs="size")
    return found.reset_index()


def passing(rows, **options):
    """All numbers from `pass_at_k`."""
    found = pass_at_k(rows, 2, True, **options)
    pair, summary = found.compare(), found.summary()
    reliability = found.reliability()
    return [found.value, found.low, found.high, *pairs(pair), summary.z, summary.sigma2,
            reliability["rate"], reliability["low"], [len(found.items)]]  # fmt: skip


def pairs(found):
    e = found.estimate
    return [e.value, e.low, e.high, found.p_value, found.n_items, found.correlation]


def slopes(found):
    topics = [] if found.topics is None else [found.topics[["slope", "low", "adjusted_p"]]]
    return [found.estimate.value, found.estimate.low, found.p_value, found.scores.low, *topics]


def traded(rows):
    """Scores and costs that differ by item and topic."""
    cost = rows["topic"].str[1:].astype(int) + rows.index.to_numpy() % 7
    found = tradeoff(rows.assign(cost=cost))
    return [found.score.value, found.score.low, found.cost.value, found.cost.high, found.dominates]


def ranks(found):
    return [found.estimate.value, found.estimate.low, found.n_items, found.rank_sets.low,
            found.covariance, *pairs(found.comparison)]  # fmt: skip


def decided(found):
    e = [found.difference, found.low, found.high, found.n_items, found.power, *found.scores]
    parts = [x for x in (found.topics, found.item_verdicts) if x is not None]
    return [e, *(x[["adjusted", "p_value"]] for x in parts)]


def groups(g):
    correlation = [] if g.sampling.item_correlation is None else [g.sampling.item_correlation]
    return [g.z, g.sigma2, g.n, g.n_independent, *correlation]


def passages(rows):
    return gate(rows, "old", "new", 0.1, cluster="passage", by="topic")


def study(rows):
    estimators = {"direct": DirectEstimator(), "js": JamesStein()}
    run = RepeatedSamplingStudy(estimators, n_items=5, n_repeats=3, random_state=0)
    return [run.run(rows, ("model", "subject")).results_.select_dtypes("number")]


def risks(rows, **options):
    options |= {"by": ["model", "subject"], "n_splits": 2, "random_state": 0}
    one = estimated_risk(JamesStein(), rows, **options)
    candidates = {"direct": DirectEstimator(), "js": JamesStein()}
    two = compare_estimators(candidates, rows, **options)
    return [one.to_frame().select_dtypes("number"), two.to_frame().select_dtypes("number")]


def resampled(rows, **options):
    boot = TaskBootstrap(200, task="subject", random_state=0, **options).fit_items(rows)
    return [boot.score_, boot.sigma2_, boot.draws_.values]


def unit_level(rows):
    bank = bank_of(rows)
    asked = rows[rows["model"] == "new"].iloc[::3]
    found = UnitLevelModel(bank).fit(asked, asked["score"]).estimate(["model", "topic"])
    drawn = bank.sample(rows, ["model", "topic"], 50)
    chosen = choose_items(bank, 16, random_state=0)["inclusion_probability"]
    needed = items_needed(bank, 0.2, n_models=1, random_state=0)
    return [found.value, found.low, drawn.values, chosen, [needed.n_items]]


def shown_first(rows):
    """Verdicts on pairs that were shown in both orders."""
    verdicts = rows[rows["model"] != "other"].assign(
        first=lambda x: np.where(x["model"] == "new", "model_a", "model_b"),
        winner=lambda x: np.where(x["score"] == 1, "model_a", "model_b"),
    )
    return [list(position_bias(verdicts, item="item").values())]


ONCE, TWICE = answers(), answers(runs=4)
CASES = {
    "compare_models": (ONCE, lambda x: pairs(compare_models(x))),
    "compare_models two": (ONCE, lambda x: pairs(compare_models(x, "new", "old"))),
    "compare_models repeats": (TWICE, lambda x: pairs(compare_models(x, cluster="item"))),
    "compare_models clusters": (ONCE, lambda x: pairs(compare_models(x, cluster="passage"))),
    "compare_models by": (ONCE, lambda x: pairs(compare_models(x, by="subject"))),
    "compare_models gaps": (gaps(ONCE), lambda x: pairs(compare_models(x))),
    "compare_models wrong": (gaps(ONCE), lambda x: pairs(compare_models(x, missing="wrong"))),
    "compare_models bank": (ONCE, lambda x: pairs(compare_models(x, bank=bank_of(x)))),
    "trend": (gaps(ONCE), lambda x: slopes(trend(x, MODELS, by="subject"))),
    "trend repeats": (TWICE, lambda x: slopes(trend(x, MODELS, cluster="item"))),
    "tradeoff": (gaps(ONCE), traded),
    "leaderboard": (ONCE, lambda x: ranks(leaderboard(x))),
    "leaderboard repeats": (TWICE, lambda x: ranks(leaderboard(x, cluster="item"))),
    "leaderboard topics": (gaps(ONCE), lambda x: ranks(leaderboard(x, topics="subject"))),
    "leaderboard bank": (ONCE, lambda x: ranks(leaderboard(x, bank=bank_of(x)))),
    "gate": (ONCE, lambda x: decided(gate(x, "old", "new", 0.1))),
    "gate repeats": (TWICE, lambda x: decided(gate(x, "old", "new", 0.1, cluster="item"))),
    "gate topics": (ONCE, lambda x: decided(gate(x, "old", "new", 0.1, by="topic"))),
    "gate passages": (ONCE, lambda x: decided(passages(x))),
    "gate bank": (ONCE, lambda x: decided(gate(x, "old", "new", 0.1, bank=bank_of(x)))),
    "pass_at_k": (TWICE, passing),
    "pass_at_k topics": (TWICE, lambda x: passing(x, by="subject")),
    "pass_at_k clusters": (TWICE, lambda x: passing(x, cluster="passage")),
    "pass_at_k counts": (counts_of(TWICE), passing),
    "summarize_items": (ONCE, lambda x: groups(summarize_items(x, "model"))),
    "summarize_items subjects": (ONCE, lambda x: groups(summarize_items(x, ["model", "subject"]))),
    "summarize_items named twice": (
        ONCE, lambda x: groups(summarize_items(x, ["model", "subject"], topic=["topic"] * 2))),
    "summarize_items repeats": (
        TWICE, lambda x: groups(summarize_items(x, ["model", "subject"], cluster="item"))),
    "summarize_items clusters": (
        ONCE, lambda x: groups(summarize_items(x, ["model", "subject"], cluster="passage"))),
    "summarize_items shares": (
        ONCE.assign(score=ONCE["score"] / 2 + ONCE["item"] / 20),
        lambda x: groups(summarize_items(pl.from_pandas(x).lazy(), ["model", "subject"]))),
    "item_correlation": (TWICE, lambda x: [item_correlation(x)]),
    "betting_estimate": (ONCE, lambda x: [betting_estimate(x, "model", random_state=0).low]),
    "RepeatedSamplingStudy": (ONCE, study),
    "estimated_risk compare_estimators": (ONCE, risks),
    "estimated_risk repeats": (TWICE[TWICE["run"] < 2], lambda x: risks(x, cluster="item")),
    "TaskBootstrap": (ONCE, resampled),
    "TaskBootstrap repeats": (TWICE, lambda x: resampled(x, cluster="item")),
    "ItemBank UnitLevelModel choose_items items_needed": (ONCE, unit_level),
    "ItemBank": (ONCE, lambda x: [ItemBank().fit(x).scores_]),
    "item_audit": (TWICE, lambda x: [item_audit(x).items.drop(columns="flagged")]),
    "sample_items": (ONCE, lambda x: [sample_items(x, 3, random_state=0).index]),
    "position_bias": (ONCE, shown_first),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", one_in(2, CASES))
def test_repeated_ids_equal_ids_with_a_topic_prefix(case):
    rows, figures = CASES[case]
    rows = rows.sample(frac=1, random_state=0)
    found, expected = figures(rows), figures(made_unique(rows))
    for ours, theirs in zip(found, expected, strict=True):
        assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_all_functions_of_items_are_covered():
    tested = " ".join(CASES)
    for name in skbench.__all__:
        function = getattr(skbench, name)
        takes = inspect.signature(function).parameters if callable(function) else {}
        if "item" in takes and name != "read_items":
            assert "topic" in takes and name in tested, name


BANK = bank_of(ONCE)


@pytest.mark.parametrize("bank", [None, BANK])
def test_models_are_called_by_name(bank):
    with pytest.raises(ValueError, match="'gpt'.*'new'"):
        gate(ONCE, "gpt", "new", 0.05, bank=bank)
    with pytest.raises(ValueError, match="b='new'"):
        compare_models(ONCE, None, "new", bank=bank)
    with pytest.raises(TypeError, match="^bank .*ItemBank"):
        compare_models(ONCE, bank=ItemBank)


IDS = {
    "text": str,
    "floats": float,
    "text and numbers": lambda item: str(item) if item % 2 else item,
}


def as_type(rows, kind):
    ids = rows["item"].map(IDS[kind]) if kind in IDS else rows["item"].astype(kind)
    return rows.assign(item=ids)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "case",
    [
        "compare_models two",
        "summarize_items subjects",
        "TaskBootstrap",
        "item_correlation",
        "betting_estimate",
        "sample_items",
        "position_bias",
        "ItemBank",
    ],
)
def test_ids_of_another_type_are_the_same_items(case):
    rows, figures = CASES[case]
    new, expected = rows["model"] == "new", figures(rows)
    for kind in (*IDS, "category", "Int64", "string[pyarrow]"):
        both = pd.concat([as_type(rows[new], kind), rows[~new]])
        both = both.astype({"item": "category"}) if kind in ("text", "category") else both
        for ours, theirs in zip(figures(both), expected, strict=True):
            assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9, err_msg=kind)


def test_items_with_several_topics_raise_a_warning():
    once = ONCE[ONCE["topic"] == "t0"]
    tagged = pd.concat([once, once.assign(topic="tag"), ONCE[ONCE["topic"] == "t1"]])
    tagged.loc[tagged["topic"] == "t1", "item"] += 100
    with pytest.warns(UserWarning, match="10 ids.* 0, "):
        compare_models(tagged)


@pytest.mark.parametrize("call", [compare_models, lambda x: gate(x, "old", "new", 0.1)])
def test_topics_that_differ_between_models_raise_a_warning(call):
    tags = ONCE.assign(item=np.tile(range(80), 3), topic=ONCE["model"].str[:1] + ONCE["topic"])
    tags.loc[tags["item"] % 2 == 0, "topic"] = "same"
    with pytest.warns(UserWarning, match="40 ids.* 1, "):
        call(tags)


@pytest.mark.parametrize("topic", ["nope", "model", "item"])
@pytest.mark.parametrize(
    "call",
    [
        compare_models,
        pass_at_k,
        item_correlation,
        lambda x, topic: summarize_items(x, "subject", topic=topic),
        lambda x, topic: ItemBank(topic=topic).fit(x),
    ],
)
def test_topics_are_columns_of_topics(call, topic):
    with pytest.raises(ValueError, match="topic='(model|item)'|'nope'"):
        call(TWICE, topic=topic)


@pytest.mark.parametrize(
    "call",
    [
        lambda twice: compare_models(ONCE, by="topic", population=twice * 100),
        lambda twice: BANK.sample(ONCE, population=twice * 100),
        lambda twice: TaskBootstrap(9, task="topic").fit_items(ONCE).estimate(twice / 9),
    ],
)
def test_two_numbers_of_one_topic_are_refused(call):
    twice = pd.Series(1.0, ["t0", *(f"t{i}" for i in range(N_TOPICS))])
    with pytest.raises(ValueError, match="'t0'"):
        call(twice)


@pytest.mark.parametrize(
    "call",
    [compare_models, leaderboard, pass_at_k, lambda x: gate(x, "old", "new", 0.1),
     lambda x: summarize_items(x, "model"), lambda x: betting_estimate(x, "model"),
     lambda x: TaskBootstrap(task="subject").fit_items(x), item_correlation, shown_first],
)  # fmt: skip
def test_a_topic_without_a_name_is_refused(call):
    with pytest.raises(ValueError, match="'topic'"):
        call(TWICE[TWICE["run"] < 2].assign(topic=lambda x: x["topic"].where(x["item"] > 0)))


def test_ids_in_several_topics_need_a_bank_with_topics():
    bank = ItemBank().fit(answers(["a", "b"])[["model", "item", "score"]])
    with pytest.raises(ValueError, match="Item 0 .*topic column"):
        UnitLevelModel(bank).fit(ONCE, ONCE["score"])


def test_names_of_items_show_both_parts():
    kept = gaps(ONCE)
    with pytest.warns(UserWarning, match=r"lacks \('t0', \d\)"):
        compare_models(kept, "new", "old")
    verdicts = gate(TWICE, "old", "new", 0.1, cluster="item").item_verdicts
    assert list(verdicts.index.names) == ["topic", "item"]
    assert list(pass_at_k(TWICE).reliability().index.names) == ["model", "topic", "item"]
    with pytest.raises(ValueError, match=r"topic 't0', item 0\b.* cluster='item'"):
        compare_models(TWICE)
    with pytest.raises(ValueError, match=r"for item 0\. .*topic="):
        compare_models(ONCE, topic=None)


ROWS = {"once": ONCE, "gaps": gaps(ONCE), "repeats": TWICE.rename(columns={"run": "attempt"})}
LEVEL = ["value", "low", "high"]
COMMANDS = {
    "compare": (["compare", "{}"], "pairs", lambda x: compare_models(x).estimate),
    "compare by": (["compare", "{}", "--by", "subject"], "pairs",
                   lambda x: compare_models(x, by="subject").estimate),
    "compare two columns": (["compare", "{}", "--by", "subject,topic"], "pairs",
                            lambda x: compare_models(x, by=["subject", "topic"]).estimate),
    "compare repeats": (["compare", "{}"], "pairs",
                        lambda x: compare_models(x, cluster="item").estimate),
    "compare gaps": (["compare", "{}", "--missing", "wrong"], "pairs",
                     lambda x: compare_models(x, missing="wrong").estimate),
    "leaderboard": (["leaderboard", "{}"], "models", lambda x: leaderboard(x).estimate),
    "leaderboard repeats": (["leaderboard", "{}"], "models",
                            lambda x: leaderboard(x, cluster="item").estimate),
    "leaderboard gaps": (["leaderboard", "{}", "--topics", "topic"], "models",
                         lambda x: leaderboard(x, topics="topic").estimate),
    "trend": (["trend", "{}", "--order", "new,old,other"], "trend",
              lambda x: trend(x, MODELS).estimate),
    "trend repeats": (["trend", "{}", "--order", "new,old,other"], "trend",
                      lambda x: trend(x, MODELS, cluster="item").estimate),
    "report": (["report", "{}", "--by", "subject,topic"], "models",
               lambda x: leaderboard(x, topics=["subject", "topic"]).estimate),
    "report repeats": (["report", "{}"], "models",
                       lambda x: leaderboard(x, cluster="item").estimate),
    "passk repeats": (["passk", "{}", "-k", "2"], "groups", lambda x: pass_at_k(x, 2)),
    "passk by repeats": (["passk", "{}", "-k", "2", "--by", "subject"], "groups",
                         lambda x: pass_at_k(x, 2, by="subject")),
    "estimate": (["estimate", "{}", "--by", "model", "--method", "direct"], "groups",
                 lambda x: DirectEstimator().fit(**summarize_items(x, "model").fit_args).estimate()),
    "gate repeats": (["gate", "{}", "{}", "--baseline", "old", "--candidate", "new", "--margin",
                      "0.1"], "pairs", lambda x: gate(x, "old", "new", 0.1, cluster="item")),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_equal_functions(command, tmp_path):
    words, name, expected = COMMANDS[command]
    rows = ROWS.get(command.split()[-1], ONCE)
    rows = rows if "subject" in str(words) else rows.drop(columns="subject")
    rows.drop(columns="passage").to_csv(tmp_path / "r.csv", index=False)
    command, *arguments = (word.format(tmp_path / "r.csv") for word in words)
    command = getattr(import_module(f"skbench.report.{command}"), command)
    found = pd.DataFrame(json.loads(run(command, *arguments, "--json").stdout)[name])
    known = expected(rows)
    value = known.value if hasattr(known, "value") else [known.difference]
    known = pd.DataFrame({"value": value, "low": known.low, "high": known.high})
    assert_allclose(found[LEVEL].sort_values(LEVEL), known.sort_values(LEVEL), rtol=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("by", ["subject", "subject,topic"])
def test_item_names_do_not_depend_on_other_rows(by, tmp_path):
    """Ids repeat across topics in one file but not in the other."""

    def found(name, *words):
        result = run(getattr(import_module(f"skbench.report.{name}"), name), *words, "--json")
        return json.loads(result.stdout), result.stderr

    few = ONCE[(ONCE["model"] == "new") & (ONCE["topic"] == "t" + ONCE["item"].astype(str))]
    parts = {"old": ONCE[ONCE["model"] == "old"], "new": few, "past": ONCE[ONCE["model"] != "new"]}
    known = gate(pd.concat([parts["old"], few]), "old", "new", 0.5)
    for name, part in parts.items():
        part.drop(columns="passage").to_csv(tmp_path / f"{name}.csv", index=False)
    old, new, past = (tmp_path / f"{name}.csv" for name in parts)
    (pair,) = found("gate", old, new, "--by", by, "--margin", 0.5)[0]["pairs"]
    values = [pair[name] for name in ("value", "low", "high", "n_items")]
    assert_allclose(values, [known.difference, known.low, known.high, N_TOPICS], rtol=1e-9)
    compared = pd.DataFrame(found("compare", new, old, "--by", by)[0]["pairs"])
    assert_allclose(compared["value"].mean(), known.difference, rtol=1e-9)
    notes = " ".join(found("estimate", new, "--past", past, "--by", by)[1].split())
    assert re.search(rf"\b80 items.* {N_TOPICS} of ", notes)


def test_labels_that_hold_the_separator_stay_apart():
    labels = [
        "a",
        "b",
        "/",
        "\\",
        " ",
        "a/b",
        "a / b",
        "/ b",
        "a /",
        "\\/",
        "a \\/ b",
        " / ",
        "\\/ b",
    ]
    rows = pd.DataFrame(product(labels, repeat=3))
    assert len(set(joined(rows))) == len(rows)
    assert joined(pd.DataFrame([["mmlu/law", 1]])) == ["mmlu/law / 1"]
    assert joined(pd.DataFrame({"topic": ["a / b"]})) == ["a / b"]
