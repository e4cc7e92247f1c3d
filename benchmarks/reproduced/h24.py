"""Hofer et al. (2024), Bayesian prediction-powered inference: open question answering, simulations.

Data: openqa_nq.csv.gz (five of the ten systems, 3,610 questions, about 300 with human labels).
Token F1 above one half replaces the verdicts of the paper's prompted autorater. These verdicts are
public for one system only (counts in ``tests/gold/ppi_chain.json``). `h24_simulated` and
`h24_scores` contain the simulations, `h24_pairs` the side-by-side tests.
"""

import json
from itertools import permutations

import numpy as np
import pandas as pd
from scipy.stats import norm

from reproduced import (
    GOLD,
    NOT_PRINTED,
    Row,
    Table,
    data_folder,
    figure,
    from_one,
    h24_pairs,
    h24_scores,
    h24_simulated,
    quoted,
)
from skbench.ppi import ClassicalMean, MonteCarloPPI, Proportion
from skbench.stats.intervals.binomial import wald_interval
from skbench.stats.ppi.chain_rule import chain_interval

# Name in the data: name in the paper.
SYSTEMS = {
    "DPR": "DPR",
    "FiD": "FiD",
    "ANCE-plus_FiD": "ANCE/FiD",
    "FiD-KD": "FiD-KD",
    "EviGen": "EviGen",
}
ALL_SYSTEMS = "DPR FiD ANCE/FiD RocketQAv2/FiD Contriever/FiD FiD-KD GAR+/FiD EviGen EMDR2 R2-D2"
CLASSICAL, DIFFERENCE, TUNED, CHAIN = h24_scores.PUBLISHED.values()
IN_PLACE = "F1 instead of Gemini"
BY_F1 = f"five of ten systems, {IN_PLACE}"
_ABSENT = "answers and labels are public but not in the data folder"
_UNMATCHED = {"DPR": ". The printed share is 177 of 301; ten labels have no match here"}
FID = "only FiD has public verdicts; the paper prints means over ten systems"
# Standard deviation of the distance between the 2.5% and 97.5% quantiles of normal draws.
_QUANTILE_ERROR = np.sqrt(2 * 0.025 * 0.95) / norm.pdf(1.96)
WIDTH = "mean interval width", "width ratio to classical"


def add_arguments(parser):
    """Add the options of ``reproduce.py h24``."""
    parser.add_argument("--trials", type=from_one, default=1000, help="sets of a table")
    parser.add_argument("--seeds", type=from_one, default=3, help="seeds of Tables 2 and 3")
    parser.add_argument("--jobs", type=from_one, default=2, help="seeds at the same time")


def tables(arguments):
    """Yield all tables, simulations last."""
    rows = pd.read_csv(data_folder() / "openqa_nq.csv.gz")
    systems = {SYSTEMS[name]: table for name, table in rows.groupby("system")}
    systems = {name: systems[name] for name in SYSTEMS.values()}
    rated = {name: _rated(table) for name, table in systems.items()}
    yield _table_4(systems)
    yield _table_5()
    yield _table_6(rated)
    yield _table_7(rated)
    yield _table_9()
    yield _figure_4(rated)
    pairs = h24_pairs.outcomes(systems)
    yield h24_pairs.figure_5(pairs, f"``{h24_pairs.CHAIN!r}``; {IN_PLACE}")
    verdicts, y = _gemini()
    by_gemini = {"FiD, Gemini": ((verdicts == "y").astype(float), y)}
    yield from h24_simulated.tables(rated | by_gemini, arguments.trials)
    yield h24_pairs.coverage(pairs, max(1, arguments.trials // 2))
    yield from h24_scores.tables(arguments.trials, arguments.seeds, arguments.jobs)


def _rated(table):
    """Return verdicts and labels of all questions; labels are nan without a human judgment."""
    return (table["f1"] > 0.5).to_numpy(dtype=float), table["human"].to_numpy(dtype=float)


def _gemini():
    """Return verdicts y, n and u of the paper's autorater on FiD's answers, and labels."""
    counts = json.loads((GOLD / "ppi_chain.json").read_text())["abstaining"]["counts"]
    verdicts, labels = [], []
    for verdict, c in counts.items():
        verdicts += [verdict] * (c["n"] + c["N"])
        labels += [1.0] * c["k"] + [0.0] * (c["n"] - c["k"]) + [np.nan] * c["N"]
    return np.array(verdicts), np.array(labels)


def _width(estimator, f, y):
    low, high = h24_simulated.interval(estimator, f, y)
    return high - low


def _width_row(name, place, row, width, classical, why):
    here = f"{figure(width, 3)}, {figure(width / classical)}"
    return Row(name, quoted("H24", place, row, *WIDTH), here, why)


def _table_4(systems):
    rows = []
    for name, table in systems.items():
        labeled = table["human"].notna()
        found = [100 * table[column].mean() for column in ("em", "f1", "human")]
        gain = 100 * (table["human"] - table["em"])[labeled].mean()
        rows.append(
            Row(
                name,
                quoted("H24", "Table 4", name, "EM", "F1", "Human", "delta"),
                ", ".join(figure(x, 1) for x in found) + f", +{figure(gain, 1)}",
                f"{labeled.sum()} labels, joined on question and answer. The last figure uses "
                f"labeled rows only{_UNMATCHED.get(name, '')}",
            )
        )
    rows += [
        Row(
            f"{name}: human",
            quoted("H24", "Table 4", name, "Human"),
            "not in the data",
            _ABSENT,
        )
        for name in ALL_SYSTEMS.split()
        if name not in systems
    ]
    return Table("Table 4: exact match, F1, human labels and human minus exact match, in %", rows)


def _by_number(verdicts, n=0.0, u=0.5, y=1.0):
    """Code verdicts as numbers."""
    return pd.Series(verdicts).map({"n": n, "u": u, "y": y}).to_numpy()


def _printed_wald():
    """Return the mean Wald width from the printed proportions and numbers of labels."""
    emdr2 = json.loads((GOLD / "ppi_chain.json").read_text())["binary"][1]
    widths = []
    for name in ALL_SYSTEMS.split():
        n = int(quoted("H24", "Table 7", name.replace("+", ""), "n"))
        right = n * float(quoted("H24", "Table 4", name, "Human")) / 100
        if name == "EMDR2":  # its printed share is of 301 answers
            right = emdr2["k1"] + emdr2["k0"]
        low, high = wald_interval(right, n)
        widths.append(high - low)
    return np.mean(widths)


def _table_5():
    verdicts, y = _gemini()
    f = _by_number(verdicts)
    width = {
        "classical": _width(CLASSICAL, f, y),
        "difference estimate": _width(DIFFERENCE, f, y),
        "chain rule estimate": _width(CHAIN, verdicts, y),
    }
    classical, difference, chain = width.values()
    settings = "", f"``{DIFFERENCE!r}``; ", f"``{CHAIN!r}``; "
    smaller = "smaller than classical", "smaller than difference"
    exact = json.loads((GOLD / "ppi_chain.json").read_text())["abstaining"]["chain_ci95_mc4e6"]
    apart = np.max(np.abs(np.subtract(h24_simulated.interval(CHAIN, verdicts, y), exact)))
    return Table(
        "Table 5, 5.2.2 and 6: width at 300 labels and relative to classical, with abstentions",
        [
            Row(
                "classical, all ten systems",
                quoted("H24", "Table 5", "classical", WIDTH[0]),
                figure(_printed_wald(), 3),
                "Wald, from the proportions in Table 4 and the label counts in Table 7 (EMDR2: "
                "220 of 274). The text names Clopper-Pearson, but its interval is wider",
            ),
            *(
                _width_row(name, "Table 5", name, w, classical, setting + FID)
                for (name, w), setting in zip(width.items(), settings, strict=True)
            ),
            Row(
                "chain rule: narrower than classical, than difference estimate",
                quoted("H24", "Section 5.2.2", "chain rule", *smaller),
                f"{100 * (1 - chain / classical):.0f}%, {100 * (1 - chain / difference):.0f}%",
                FID,
            ),
            *(
                Row(
                    f"section 6: {name} relative to classical",
                    quoted("H24", "Section 6", "open QA", column),
                    f"{100 * w / classical:.0f}%",
                    why,
                )
                for name, column, w, why in (
                    ("difference estimate", "earlier", difference, f"0.92 in Table 5; {FID}"),
                    ("chain rule", "chain rule", chain, FID),
                )
            ),
            Row(
                "chain rule, limits compared with 4 million draws",
                NOT_PRINTED,
                f"{apart:.0e}",
                "quadrature; the paper's 10,000 draws have an error of 6e-4",
            ),
        ],
    )


def _table_6(rated):
    yes, no = (lambda t: t["x0"] == 1), (lambda t: t["x0"] == 0)
    parts = {
        "yes": Proportion("x0", "unlabeled"),
        "if_yes": Proportion("y", given=yes),
        "if_no": Proportion("y", given=no),
    }

    def g(yes, if_yes, if_no):
        return yes * if_yes + (1 - yes) * if_no

    def mean_width(estimator):
        return np.mean([_width(estimator, *data) for data in rated.values()])

    classical = mean_width(CLASSICAL)
    published = {
        "classical": ("classical", CLASSICAL),
        "difference estimate": ("difference estimate", DIFFERENCE),
        "chain rule": ("chain rule estimate", CHAIN),
        "difference estimate + ptune": ("difference estimate + ptune", TUNED),
    }
    rows = [
        _width_row(name, "Table 6", row, mean_width(e), classical, f"``{e!r}``; {BY_F1}")
        for name, (row, e) in published.items()
    ]
    rows.append(
        Row(
            "section 6: difference estimate, with engineering of the autorater",
            quoted("H24", "Section 6", "open QA", "with engineering"),
            f"{100 * mean_width(DIFFERENCE) / classical:.0f}%",
            f"with two verdicts; {BY_F1}",
        )
    )
    drawn = {
        "Monte Carlo": MonteCarloPPI(parts, g, random_state=0),
        "bootstrap": MonteCarloPPI(parts, g, 4000, random_state=0, integration="bootstrap"),
    }
    for name, e in drawn.items():
        width = mean_width(e)
        error = width / 3.92 * _QUANTILE_ERROR / np.sqrt(e.n_draws * len(rated))
        rows.append(
            Row(
                f"5.4.3: chain rule, {name}",
                quoted("H24", "Section 5.4.3", "chain rule", name),
                figure(width, 6, error),
                f"``MonteCarloPPI``, {e.n_draws:,} draws, with Monte Carlo error; {BY_F1}",
            )
        )
    return Table("Table 6, 5.4.3 and 6: width at 300 labels and relative to classical", rows)


def _labels_needed(f, y, rng, classical=CLASSICAL, draws=100):
    """Return the labels that the chain rule needs for the classical width, and all labels."""
    unlabeled, cells = h24_simulated.counts(f, y, (1, 0))
    sizes = np.arange(60, cells.sum() + 1, 5)
    drawn = [rng.multivariate_hypergeometric(cells.ravel(), n, draws) for n in sizes]
    drawn = np.concatenate(drawn).reshape(-1, 2, 2)
    low, high = chain_interval(np.broadcast_to(unlabeled, (len(drawn), 2)), drawn, [1, 0])
    width = (high - low).reshape(len(sizes), draws).mean(axis=1)
    return np.interp(-_width(classical, f, y), -width, sizes), cells.sum()


def _labels_saved(f, y):
    """Return the labels that the classical interval needs for the chain rule width."""
    return np.sum(~np.isnan(y)) * (_width(CLASSICAL, f, y) / _width(CHAIN, f, y)) ** 2


def _table_7(rated):
    rng = np.random.default_rng(0)
    need = {name: _labels_needed(*data, rng) for name, data in rated.items()}
    need["average"] = np.mean(list(need.values()), axis=0)
    n_plus = np.mean([_labels_saved(*data) for data in rated.values()])
    verdicts, y = _gemini()
    fid = (verdicts == "y").astype(float), y
    saved = _labels_saved(*fid)

    def n_min(name, system, n, total, why):
        printed = quoted("H24", "Table 7", system, "n_min", "n", form="{} of {}")
        return Row(name, printed, f"{n:.0f} of {total:.0f}", why)

    more = quoted("H24", "Section 5.2.3", "n+", "average", "more labels")
    alike = "the paper probably counts duplicate rows once"
    share = need["average"][0] / need["average"][1]
    absent = [name for name in ALL_SYSTEMS.replace("+", "").split() if name not in need]
    unread = (
        "three of 300 verdicts are neither yes nor no; they count as no here and by exact match in "
        "the paper"
    )
    exact = ClassicalMean("clopper-pearson")
    return Table(
        "Table 7, 5.2.3 and 6: labels needed for a width",
        [
            *(
                n_min(name, name, *found, BY_F1 if name == "average" else f"{IN_PLACE}; {alike}")
                for name, found in need.items()
            ),
            *(
                Row(
                    name,
                    quoted("H24", "Table 7", name, "n_min", "n", form="{} of {}"),
                    "not in the data",
                    _ABSENT,
                )
                for name in absent
            ),
            n_min("FiD, Gemini's verdicts", "FiD", *_labels_needed(*fid, rng), unread),
            n_min(
                "the same for the width of the Clopper-Pearson interval",
                "FiD",
                *_labels_needed(*fid, rng, exact),
                "the text calls this the classical interval, but Tables 5 and 6 have other widths",
            ),
            Row(
                "share of the labels that the chain rule needs",
                quoted("H24", "Section 5.2.3", "labels needed", "share"),
                f"{100 * share:.0f}%",
                f"161.5 of 296.3 is 55%; {BY_F1}",
            ),
            Row(
                "section 6: fewer labels",
                quoted("H24", "Section 6", "open QA", "fewer labels"),
                f"{100 * (1 - share):.0f}%",
                "section 6 claims 60% fewer labels; section 5.2.3 claims that 60% are needed",
            ),
            Row(
                "n+: labels that the classical method needs for the chain rule width",
                more,
                f"{n_plus:.0f}, {100 * (n_plus / need['average'][1] - 1):.0f}%",
                BY_F1,
            ),
            Row(
                "n+ of FiD, Gemini's verdicts",
                more,
                f"{saved:.0f}, {100 * (saved / 300 - 1):.0f}%",
                FID,
            ),
        ],
    )


def _table_9():
    verdicts, y = _gemini()
    classical = _width(CLASSICAL, y, y)
    codes = {
        order: _width(
            DIFFERENCE, _by_number(verdicts, **dict(zip(order, (0, 1, 2), strict=True))), y
        )
        for order in permutations("nyu")
    }
    n_u_y, best = codes["n", "u", "y"], min(codes, key=codes.get)
    signed = _by_number(verdicts, n=-1, u=0)
    last, first = "n = -1, y = +1, u = 0", "first block, heading lost"
    widths = {
        f"{first}: chain rule estimate": (
            _width(CHAIN, verdicts, y),
            classical,
            f"0.089 in Table 5; {FID}",
        ),
        f"{first}: difference estimate": (
            n_u_y,
            classical,
            "order n, u, y = 0, 1, 2. The text attributes its figures to the best of six orders, "
            f"but here {', '.join(best)} = 0, 1, 2 is best, with {figure(codes[best], 3)}, "
            f"{figure(codes[best] / classical)}; {FID}",
        ),
        f"{first}: classical": (classical, classical, f"0.105 in Table 5; {FID}"),
        f"{last}: difference estimate": (
            _width(DIFFERENCE, signed, 2 * y - 1),
            2 * classical,
            "labels are -1 and +1, so widths are twice those of Table 5",
        ),
        f"{last}: classical": (2 * classical, 2 * classical, FID),
    }
    rows = [_width_row(name, "Table 9", name, *rest) for name, rest in widths.items()]
    return Table("Table 9: numeric codes of the verdicts y, n and u", rows)


def _figure_4(rated):
    verdicts, y = _gemini()
    f = _by_number(verdicts)
    cases = {name: (f, f, y) for name, (f, y) in rated.items()}
    cases = {"FiD, Gemini's verdicts": (f, verdicts, y), **cases}
    rows = []
    for name, (scores, values, labels) in cases.items():
        ends = (
            h24_simulated.interval(CLASSICAL, scores, labels),
            h24_simulated.interval(DIFFERENCE, scores, labels),
            h24_simulated.interval(CHAIN, values, labels),
        )
        here = "; ".join(f"{figure(low, 3)} to {figure(high, 3)}" for low, high in ends)
        why = "the figure prints no numbers"
        rows.append(
            Row(
                name,
                NOT_PRINTED,
                here,
                why if "Gemini" in name else f"{why}; F1, without abstentions",
            )
        )
    return Table("Figure 4: intervals (classical; difference estimate; chain rule)", rows)
