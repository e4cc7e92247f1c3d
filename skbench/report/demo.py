"""`skbench demo`: estimates from ten images per topic, compared with known accuracies."""

import shlex
from dataclasses import replace
from pathlib import Path

import click

from skbench._files import write_whole
from skbench.report.options import number_option, seed_option
from skbench.report.table import Column, Table
from skbench.report.terminal import in_one_line, note, print_prose, save_picture, working
from skbench.report.writers import print_grid

_CLEAR = 2  # standard errors beyond which a difference from 0 counts as significant


@click.command()
@seed_option
@number_option("--n", "Number of sampled images per topic.", click.IntRange(1, 400), 10)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("skbench-demo"),
    show_default=True,
    help="Folder for the figure and the sampled results.",
)
def demo(seed, n, output):
    """Estimate accuracies from a few images each, and compare them with the true accuracies.

    The benchmark digits-C has five classifiers of handwritten digits and 50 topics. A topic is
    one of ten image corruptions at one of five severities. The true accuracy of a classifier
    on a topic is its accuracy on all images that were not sampled.

    Example: skbench demo --n 20
    """
    with in_one_line():
        from skbench.datasets import load_digits_c, sample_items

        output.mkdir(parents=True, exist_ok=True)
        with working("making digits-C"):
            data = load_digits_c(random_state=seed)
        items = data.items
        sample = sample_items(items, n, random_state=seed)
        others = items.drop(index=sample.index)
        n_models, n_topics = items["model"].nunique(), items["topic"].nunique()
        print_prose(
            f"Benchmark digits-C: {n_models} classifiers x {n_topics} topics (ten corruptions at "
            f"five severities). Each estimate uses {n} images per topic, the same for all "
            "classifiers. The true accuracy is the accuracy on the remaining "
            f"{len(others) // (n_models * n_topics)} images of the topic.\n"
        )
        summary, estimates = _estimated(items, sample, data.features, seed)
        means = others.groupby(["model", "topic"])["score"].mean()
        truth = means.reindex(list(summary.labels)).to_numpy()
        scores = method_scores(estimates, truth)
        columns = [
            Column("method", scores["method"]),
            Column("mean squared\nerror x 1000", 1000 * scores["mse"], ".1f"),
            Column("relative\nto direct", scores["ratio"], ".2f"),
            Column("coverage", 100 * scores["coverage"], lambda share: f"{share:.1f}%"),
            Column("mean\nwidth", scores["width"], ".3f"),
        ]
        errors = [(estimates[name].value - truth) ** 2 for name in ("direct", "mixed")]
        covered = scores.loc["mixed", "coverage"]
        verdict = _verdict(*error_removed(*errors, summary.groups), covered)
        print_prose(f"{verdict}\n")
        print_grid(Table(columns))
        _save(output, summary, estimates, truth, sample)


def _estimated(items, sample, features, seed):
    """Return the summary of the sample, and the estimates by method."""
    from sklearn.linear_model import Ridge

    from skbench.groups import DirectEstimator, MixedModel, SyntheticRegression
    from skbench.summaries import summarize_items

    summary = summarize_items(sample, by=["model", "topic"], features=features)
    estimators = {
        "direct": DirectEstimator(),
        "synthetic": SyntheticRegression(regressor=Ridge(), random_state=seed),
        "mixed": MixedModel(random_state=seed),
    }
    estimates = {
        name: estimator.fit(**summary.fit_args).estimate() for name, estimator in estimators.items()
    }
    return summary, estimates | {"bank": _with_earlier_models(items, sample, summary.labels)}


def _with_earlier_models(items, sample, labels):
    """Estimate each model with an item bank fitted to all other models."""
    import pandas as pd

    from skbench._printed import NUMBERS
    from skbench.bank import ItemBank, UnitLevelModel

    with_all = ItemBank().fit(items)
    found = []
    for name, asked in sample.groupby("model"):
        others = items[items["model"] == name].drop(index=asked.index)
        new = UnitLevelModel(with_all.without([name])).fit(asked, asked["score"])
        found.append(new.estimate(["model", "topic"], population=others[["topic", "item"]]))
    frames = pd.concat([e.to_frame().set_axis(e.labels) for e in found]).loc[list(labels)]
    columns = {name: frames[name].to_numpy() for name in NUMBERS}
    return replace(found[0], labels=labels, method="with earlier models (item bank)", **columns)


def method_scores(estimates, truth):
    """Return errors, coverage and width by method; ratios are relative to the first method."""
    import numpy as np
    import pandas as pd

    scores = pd.DataFrame(index=list(estimates))
    scores["method"] = [e.method for e in estimates.values()]
    scores["mse"] = [np.mean((e.value - truth) ** 2) for e in estimates.values()]
    scores["ratio"] = scores["mse"] / scores["mse"].iloc[0]
    scores["coverage"] = [np.mean((e.low <= truth) & (truth <= e.high)) for e in estimates.values()]
    scores["width"] = [np.mean(e.high - e.low) for e in estimates.values()]
    return scores


def error_removed(before, after, clusters):
    """Return the share of the squared error removed, with a clustered standard error.

    >>> import numpy as np
    >>> removed, _ = error_removed(np.array([4.0, 6.0]), np.array([1.0, 3.0]), np.array([0, 1]))
    >>> round(removed, 3)
    0.6
    """
    import numpy as np
    import pandas as pd

    ratio = after.sum() / before.sum()
    # after - ratio * before sums to 0, so its cluster sums have mean 0.
    sums = pd.Series(after - ratio * before).groupby(clusters).sum()
    variance = len(sums) / (len(sums) - 1) * np.sum(sums**2)
    return float(1 - ratio), float(np.sqrt(variance) / before.sum())


def _verdict(removed, error, covered):
    """Describe the error and the coverage of the mixed model."""
    change = "lower" if removed > 0 else "higher"
    doubt = ", not significant" if abs(removed) <= _CLEAR * error else ""
    return (
        f"The mean squared error of the mixed model was {100 * abs(removed):.0f}% {change} than "
        f"that of the direct estimates (standard error {100 * error:.0f}%{doubt}). Its 95% "
        f"intervals covered {100 * covered:.0f}% of the true accuracies."
    )


def _save(output, summary, estimates, truth, sample):
    """Write the figure and the sample, and print the next commands."""
    from skbench.plot import ShrinkageDisplay

    table = output / "digits_c_sample.csv"
    write_whole(table, sample.to_csv(index=False, lineterminator="\n"))
    direct, mixed = estimates["direct"], estimates["mixed"]
    display = ShrinkageDisplay.from_estimates(direct, mixed, truth=truth, n=summary.n)
    try:
        save_picture(display.plot(xlabel="accuracy").figure_, output / "shrinkage.png")
    except ImportError as error:
        note(f"no figure: {error}")
    command = f"skbench estimate {shlex.quote(str(table))} --by topic --model model"
    click.echo(f"\nThe {len(sample):,} sampled results are in {table}.")
    click.echo(
        "Next: reproduce these estimates, or use your own file (one row per model and item)."
    )
    click.echo(f"  {command} --features corruption,severity")
    click.echo("  skbench report FILE")
