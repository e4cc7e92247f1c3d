"""What the default costs from item rows: processor time and memory, by models and topics.

Three latent abilities decide which of ten items per topic a model gets right, so errors of models
on shared items correlate in more than one way, by some .4 as in real results, and
`summarize_items` estimates how. Each size runs in a process of its own. Printed: processor
seconds of `summarize_items` and of fit and estimate, rounds of the loop, the highest memory until
after the summary and after the fit (item rows included), and the exponent of the seconds of fit
and estimate from 25 to 100 models.

    python benchmarks/mixed_model.py
    python benchmarks/mixed_model.py --only 25x50 100x50

An earlier version of the package, before `MixedModel`, is judged by its own default; sizes that
take longer than a limit are given up:

    PYTHONPATH=EARLIER python benchmarks/mixed_model.py --limit 120
"""

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
from outliers import default_estimator
from scipy.special import expit

from skbench import summarize_items

N_ITEMS, N_ABILITIES = 10, 3
SIZES = (  # models x topics
    *((25, 50), (50, 50), (100, 50), (200, 50)),
    *((10, 500), (250, 20)),
    *((10, 3000), (50, 2000)),
)
FIRST, LAST = (25, 50), (100, 50)  # of the exponent


def item_rows(n_models, n_topics, seed=0):
    """Right and wrong answers of all models to the same items."""
    rng = np.random.default_rng(seed)
    n_all = n_topics * N_ITEMS
    ability = rng.normal(size=(n_models, N_ABILITIES))
    loading = 2 * rng.normal(size=(n_all, N_ABILITIES))
    difficulty = 4 * rng.normal(size=(n_all, 1))
    topic = np.repeat(np.arange(n_topics), N_ITEMS)
    effect = 0.7 * rng.normal(size=(n_topics, 1)) + 0.3 * rng.normal(size=(n_topics, n_models))
    p = expit(loading @ ability.T - difficulty + effect[topic])
    item, model = np.divmod(np.arange(p.size), n_models)
    right = rng.random(p.size) < p.ravel()
    return pd.DataFrame(
        {"model": model, "topic": topic[item], "item": item, "score": right.astype(np.int8)}
    )


def cost(n_models, n_topics):
    """Seconds, rounds and memory of one size."""
    warnings.simplefilter("ignore")
    items = item_rows(n_models, n_topics)
    start = time.process_time()
    g = summarize_items(items, ["model", "topic"])
    summarized, peak = time.process_time(), peak_mb()
    fitted = default_estimator().fit(**g.fit_args)
    fitted.estimate()
    ended = time.process_time()
    return {
        "groups": len(g.labels),
        "summary, s": summarized - start,
        "fit, s": ended - summarized,
        "rounds": getattr(fitted, "n_iter_", np.nan),
        "summary, MB": peak,
        "fit, MB": peak_mb(),
    }


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_a_process(size, limit):
    """The cost of a size, in a process of its own; None where it takes too long."""
    command = [sys.executable, __file__, "--size", *map(str, size)]
    try:
        done = subprocess.run(command, check=True, capture_output=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", metavar="MxT", help="sizes, such as 25x50")
    parser.add_argument("--limit", type=float, help="seconds after which a size is given up")
    parser.add_argument("--size", nargs=2, type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.size:
        print(json.dumps(cost(*arguments.size)))
        return
    sizes = SIZES
    if arguments.only:
        sizes = [tuple(map(int, text.split("x"))) for text in arguments.only]
    rows = {}
    for size in sizes:
        name, found = "{} x {}".format(*size), in_a_process(size, arguments.limit)
        if found is None:
            print(f"{name}: more than {arguments.limit:g} s", flush=True)
            continue
        rows[size] = found
        print(f"{name}: fit and estimate {found['fit, s']:.2f} s", flush=True)
    if rows:
        table = pd.DataFrame(rows.values(), index=["{} x {}".format(*size) for size in rows])
        print(f"\n{table.rename_axis('models x topics').round(2).to_string(na_rep='')}")
    if FIRST in rows and LAST in rows:
        growth = np.log(rows[LAST]["fit, s"] / rows[FIRST]["fit, s"])
        exponent = growth / np.log(LAST[0] / FIRST[0])
        print(f"exponent in models from {FIRST[0]} to {LAST[0]}: {exponent:.2f}")


if __name__ == "__main__":
    main()
