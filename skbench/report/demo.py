"""`skbench demo`: a real benchmark, ten images a topic, and the truth to compare with."""

import shlex
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pandas as pd

from skbench._files import write_whole
from skbench._printed import NUMBERS
from skbench.report.options import seed_option
from skbench.report.table import Column, Table
from skbench.report.tables import level_and_guarantee
from skbench.report.terminal import in_one_line, print_prose, save_picture, say, working
from skbench.report.writers import print_grid

_N_SHOWN = 5
_CLEAR = 2  # standard errors from 0 beyond which a difference is not put down to chance
_EXTREME = 0.1  # coverage is told apart for truths this near to 0 or 1


@click.command()
@seed_option
@click.option(
    "--n",
    "n_images",
    type=click.IntRange(1, 400),
    default=10,
    show_default=True,
    help="Images looked at per topic.",
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("skbench-demo"),
    show_default=True,
    help="Folder for the picture and the sampled results.",
)
def demo(seed, n_images, output):
    """Estimate 250 accuracies from a few images each, and check against the truth.

    The benchmark is digits-C: five classifiers, trained on half of scikit-learn's
    digits, meet the other half under ten corruptions at five severities. Only a
    few images per topic are looked at, the same for all classifiers; accuracy on
    all the others is the truth.
    """
    with in_one_line():
        from skbench.plot import ShrinkageDisplay

        items, features = _benchmark(seed)
        sample, truth = _looked_at(items, n_images, seed)
        summary, estimates = _estimated(sample, features, seed)
        estimates["bank"] = with_earlier_models(items, sample, summary.labels)
        truth = truth.reindex(list(summary.labels)).to_numpy()
        _print_setting(items, n_images, len(summary))
        scores = method_scores(estimates, truth)
        _print_scores(scores)
        for line in ("", *_verdict(scores, estimates, truth, summary.groups), ""):
            print_prose(line)
        display = ShrinkageDisplay.from_estimates(
            estimates["direct"], estimates["mixed"], truth=truth, n=summary.n
        )
        _print_moves(display.moves_)
        _save(output, display, sample)


def _benchmark(seed):
    from skbench.datasets import load_digits_c

    with working("making digits-C"):
        data = load_digits_c(random_state=seed)
    return data.items, data.features


def _looked_at(items, n_images, seed):
    """Rows of the sampled images, and accuracy on all the others by (model, topic)."""
    from skbench.datasets import sample_items

    sample = sample_items(items, n_images, random_state=seed)
    others = items.drop(index=sample.index)
    return sample, others.groupby(["model", "topic"])["score"].mean()


def _estimated(sample, features, seed):
    """The estimates from these images alone, by method."""
    from sklearn.linear_model import Ridge

    from skbench.assessment import sample_size_ratio
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
    ratio = sample_size_ratio(estimators["mixed"], summary)
    mixed = replace(estimates["mixed"], sample_size_ratio=ratio)
    return summary, estimates | {"mixed": mixed}


def with_earlier_models(items, sample, labels):
    """Estimates of each model by an item bank whose past are all the others, as of these labels."""
    from skbench.bank import ItemBank, UnitLevelModel

    with_all = ItemBank().fit(items)
    found = []
    for name, asked in sample.groupby("model"):
        others = items[items["model"] == name].drop(index=asked.index)
        new = UnitLevelModel(with_all.without([name])).fit(asked, asked["score"])
        found.append(new.estimate(["model", "topic"], population=others[["topic", "item"]]))
    labels_found = found[0].labels.append([e.labels for e in found[1:]])
    frames = pd.concat([e.to_frame() for e in found]).set_axis(labels_found).loc[list(labels)]
    columns = {name: frames[name].to_numpy() for name in NUMBERS}
    return replace(found[0], labels=labels, method="with earlier models (item bank)", **columns)


def method_scores(estimates, truth):
    """How near the estimates came to the truth, one row per method; ratios are to the first."""
    scores = pd.DataFrame(index=list(estimates))
    scores["method"] = [e.method for e in estimates.values()]
    scores["mse"] = [np.mean((e.value - truth) ** 2) for e in estimates.values()]
    scores["ratio"] = scores["mse"] / scores["mse"].iloc[0]
    scores["coverage"] = [np.mean(_covers(e, truth)) for e in estimates.values()]
    scores["width"] = [np.mean(e.high - e.low) for e in estimates.values()]
    return scores


def error_removed(before, after, clusters):
    """Share of the squared error that went away, and its standard error over dependent clusters.

    >>> removed, _ = error_removed(np.array([4.0, 6.0]), np.array([1.0, 3.0]), np.array([0, 1]))
    >>> round(removed, 3)
    0.6
    """
    ratio = after.sum() / before.sum()
    # after - ratio * before sums to 0, so its cluster sums are deviations already.
    sums = pd.Series(after - ratio * before).groupby(clusters).sum()
    variance = len(sums) / (len(sums) - 1) * np.sum(sums**2)
    return float(1 - ratio), float(np.sqrt(variance) / before.sum())


def _covers(estimate, truth):
    return (estimate.low <= truth) & (truth <= estimate.high)


def _print_setting(items, n_images, n_groups):
    n_models, n_topics = items["model"].nunique(), items["topic"].nunique()
    n_others = len(items) // (n_models * n_topics) - n_images
    print_prose(
        f"digits-C: {n_models} classifiers x {n_topics} topics (a corruption at a severity) = "
        f"{n_groups} groups. {n_images} images per topic were looked at, the same for all "
        f"classifiers. Accuracy on the other {n_others} images of the topic is the truth.\n"
    )


def _print_scores(scores):
    columns = [
        Column("method", scores["method"]),
        Column("squared error x 1000", 1000 * scores["mse"], ".1f"),
        Column("of direct", scores["ratio"], ".2f"),
        Column("covered", 100 * scores["coverage"], lambda share: f"{share:.1f} %"),
        Column("mean width", scores["width"], ".3f"),
    ]
    print_grid(Table(columns))


def _verdict(scores, estimates, truth, topics):
    """What the figures mean, one sentence a line."""
    direct, mixed = estimates["direct"], estimates["mixed"]
    squared_errors = [(e.value - truth) ** 2 for e in (direct, mixed)]
    narrower = scores.loc["mixed", "width"] / scores.loc["direct", "width"]
    lines = [
        _verdict_on_error(*error_removed(*squared_errors, topics)),
        *_worth_in_images(mixed, squared_errors),
        f"Its intervals ({level_and_guarantee(mixed)}) covered the truth of "
        f"{_percent(scores.loc['mixed', 'coverage'])} of the groups, at {narrower:.2f} times the "
        "width of the direct ones.",
    ]
    extreme = (truth < _EXTREME) | (truth > 1 - _EXTREME)
    if extreme.any() and not extreme.all():
        covers = _covers(mixed, truth)
        lines.append(
            f"That is an average: {_percent(covers[extreme])} of the {extreme.sum()} groups with a "
            f"truth below {_EXTREME:g} or above {1 - _EXTREME:g}, {_percent(covers[~extreme])} of "
            f"the other {(~extreme).sum()}."
        )
    lines.append(_verdict_on_bank(scores, estimates["bank"], truth, topics, squared_errors[0]))
    return lines


def _verdict_on_bank(scores, bank, truth, topics, before):
    others = len(bank.labels.unique("model")) - 1
    who = f"The item bank, with the other {others} classifiers as the past of each,"
    narrower = scores.loc["bank", "width"] / scores.loc["direct", "width"]
    return (
        _verdict_on_error(*error_removed(before, (bank.value - truth) ** 2, topics), who)[:-1]
        + f", at {narrower:.2f} times the width of the direct intervals; the past are answers to "
        "all images."
    )


def _percent(share):
    return f"{100 * np.mean(share):.0f} %"


def _verdict_on_error(removed, error, who="The mixed model"):
    figure = f"{_percent(abs(removed))} (standard error {_percent(error)})"
    what = "of the squared error of the direct estimates"
    if removed > _CLEAR * error:
        return f"{who} removed {figure} {what}."
    if removed > 0:
        return f"{who} removed {figure} {what}: too little to tell from chance in this draw."
    return f"{who} did not help in this draw: it added {figure} {what}."


def _worth_in_images(mixed, squared_errors):
    """The sample size ratio, told from the images alone, and what the truth says of it."""
    if mixed.sample_size_ratio is not None:
        direct, shrunk = squared_errors
        yield (
            f"These images alone say that it is {mixed.sample_size_ratio}; the errors in this "
            f"draw have a ratio of {direct.sum() / shrunk.sum():.2g}."
        )


def _print_moves(moves):
    largest = moves.head(_N_SHOWN)
    print_prose(
        f"It moved {_percent(moves['improved'])} of the groups nearer to the truth. "
        f"Of the {len(largest)} that moved most, {int(largest['improved'].sum())} moved rightly:\n"
    )
    columns = [
        Column("moved most", largest["label"]),
        Column("ended", np.where(largest["improved"], "nearer", "farther")),
        Column("direct", largest["direct"], ".3f"),
        Column("estimate", largest["shrunk"], ".3f"),
        Column("truth", largest["truth"], ".3f"),
    ]
    print_grid(Table(columns))


def _save(output, display, sample):
    """Write picture and sample, and say what to do next."""
    output.mkdir(parents=True, exist_ok=True)
    table = output / "digits_c_sample.csv"
    write_whole(table, sample.to_csv(index=False, lineterminator="\n"))
    print_prose("")
    try:
        save_picture(display.plot(xlabel="accuracy").figure_, output / "shrinkage.png")
    except ImportError as error:
        say(f"no picture: {error}")
    command = f"skbench estimate {shlex.quote(str(table))} --by topic --model model"
    click.echo(f"The {len(sample)} sampled results: {table}. Estimate them yourself:")
    click.echo(f"  {command} --features corruption,severity")
    click.echo("Then a file of your own, one row per model and item:")
    click.echo("  skbench estimate yourfile.csv --by topic --model model")
