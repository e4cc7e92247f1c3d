"""`skbench demo`: a real benchmark, ten images a topic, and the truth to compare with."""

import shlex
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pandas as pd

from skbench._files import write_whole
from skbench.report.tables import level_and_guarantee, plain_table
from skbench.report.terminal import (
    in_one_line,
    print_prose,
    print_table,
    save_picture,
    say,
    working,
)

_N_SHOWN = 5
_CLEAR = 2  # standard errors from 0 beyond which a difference is not put down to chance
_EXTREME = 0.1  # coverage is told apart for truths this near to 0 or 1


@click.command()
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
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
        display = _shrinkage(estimates, truth, summary)
        _print_moves(display.moves)
        _save(output, display, sample)


def _benchmark(seed):
    from skbench.datasets import load_digits_c

    with working("making digits-C, topics") as report:
        data = load_digits_c(random_state=seed, progress=report)
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
    """Estimates of each model by those of an item bank whose past are all the other models.

    Parameters
    ----------
    items : DataFrame
        Columns model, topic, item and score: what a model is asked when it belongs to the past.
    sample : DataFrame
        Rows of these that are known of the new model.
    labels : MultiIndex of shape (n_groups,)
        Model and topic.

    Returns
    -------
    Estimate
        Of the mean score on the items that were not looked at, with posterior intervals.
    """
    from skbench.bank import ItemBank, UnitLevelModel

    with_all = ItemBank().fit(items)
    found = []
    for name, asked in sample.groupby("model"):
        others = items[items["model"] == name].drop(index=asked.index)
        new = UnitLevelModel(with_all.without([name])).fit(asked, asked["score"])
        found.append(new.estimate(["model", "topic"], population=others[["topic", "item"]]))
    columns = {
        name: np.concatenate([getattr(e, name) for e in found])
        for name in ("value", "low", "high", "standard_error")
    }
    at = found[0].labels.append([e.labels for e in found[1:]]).get_indexer(labels)
    columns = {name: column[at] for name, column in columns.items()}
    return replace(found[0], labels=labels, method="with earlier models (item bank)", **columns)


def method_scores(estimates, truth):
    """How near the estimates came to the truth, one row per method.

    Parameters
    ----------
    estimates : dict of str to Estimate
        Of the same groups; the first is what the others are compared with.
    truth : ndarray of shape (n_groups,)
        True performance of these groups.

    Returns
    -------
    DataFrame
        Indexed by the names: method, mse (score units squared), ratio (to the
        first mse), coverage (share of groups), width (mean, score units).
    """
    rows = {
        name: {
            "method": e.method,
            "mse": np.mean((e.value - truth) ** 2),
            "coverage": np.mean(_covers(e, truth)),
            "width": np.mean(e.high - e.low),
        }
        for name, e in estimates.items()
    }
    scores = pd.DataFrame.from_dict(rows, orient="index")
    scores.insert(2, "ratio", scores["mse"] / scores["mse"].iloc[0])
    return scores


def error_removed(before, after, clusters):
    """Share of the squared error that went away, and its standard error.

    Parameters
    ----------
    before, after : ndarray of shape (n_groups,)
        Squared errors of the same groups.
    clusters : ndarray of shape (n_groups,)
        Groups with the same entry are dependent: the topic, as all models saw
        the same images.

    Returns
    -------
    removed : float
        ``1 - sum(after) / sum(before)``; negative where the error grew.
    standard_error : float
        Of the ratio, linearised, over independent clusters.

    Examples
    --------
    >>> import numpy as np
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
    headers = ["method", "squared error x 1000", "of direct", "covered", "mean width"]
    rows = [
        [
            row.method,
            f"{1000 * row.mse:.1f}",
            f"{row.ratio:.2f}",
            f"{100 * row.coverage:.1f} %",
            f"{row.width:.3f}",
        ]
        for row in scores.itertuples()
    ]
    print_table(plain_table(headers, rows, n_text=1))


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
    if removed > _CLEAR * error:
        return f"{who} removed {figure} of the squared error of the direct estimates."
    if removed > 0:
        return (
            f"{who} removed {figure} of the squared error of the direct "
            "estimates: too little to tell from chance in this draw."
        )
    return (
        f"{who} did not help in this draw: the squared error of the direct "
        f"estimates grew by {figure}."
    )


def _worth_in_images(mixed, squared_errors):
    """The sample size ratio, told from the images alone, and what the truth says of it."""
    if mixed.sample_size_ratio is None:
        return []
    direct, shrunk = squared_errors
    return [
        f"These images alone say that it is {mixed.sample_size_ratio}; the errors in this "
        f"draw have a ratio of {direct.sum() / shrunk.sum():.2g}."
    ]


def _shrinkage(estimates, truth, summary):
    from skbench.plot import ShrinkageDisplay

    return ShrinkageDisplay.from_estimates(
        estimates["direct"], estimates["mixed"], truth=truth, n=summary.n
    )


def _print_moves(moves):
    largest = moves.head(_N_SHOWN)
    print_prose(
        f"It moved {_percent(moves['improved'])} of the groups nearer to the truth. "
        f"Of the {len(largest)} that moved most, {int(largest['improved'].sum())} moved rightly:\n"
    )
    rows = [
        [
            str(row.label),
            "nearer" if row.improved else "farther",
            f"{row.direct:.3f}",
            f"{row.shrunk:.3f}",
            f"{row.truth:.3f}",
        ]
        for row in largest.itertuples()
    ]
    headers = ["moved most", "ended", "direct", "estimate", "truth"]
    print_table(plain_table(headers, rows, n_text=2))


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
