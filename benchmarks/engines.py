"""Time and memory of each step from Parquet files to intervals and ranks at 10^8 rows.

The script writes the answers of 1,000 models to items of 57 topics to a temporary folder. Harnesses
write one file per model, topic after topic; "mixed" shuffles models and topics. Each step runs in
its own process, next to handwritten code with as little memory. The script prints clock and
processor seconds without imports, and the peak resident memory of the process including Python.

    python benchmarks/engines.py 1e8                          # 1.5 GB on disk, an hour
    python benchmarks/engines.py 1e7 200 mixed                # 200 models, shuffled rows
    python benchmarks/engines.py 1e7 1000 mixed "item ids"    # steps with this prefix
"""

import pickle
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import duckdb
import numpy as np

TOPICS = 57
BY = ["model", "topic"]
SUMMARIES = {
    "group means": {"item": None},
    "real-valued scores": {"item": None, "score": "confidence"},
    "clusters": {"item": None, "cluster": "passage"},
    "item ids and correlation": {},
}
MEANS = "select model, topic, count(*), avg({0}), var_samp({0}) from '{{}}' group by all"
BY_HAND = {
    "group means": MEANS.format("score"),
    "real-valued scores": MEANS.format("confidence"),
    "clusters": """
        select model, topic, size, count(*), sum(total), sum(total * total) from (
            select model, topic, passage, count(*) as size, sum(score) as total
            from '{}' group by all)
        group by all""",
}
# {n} models and {k} items. Answers depend on the ability of the model, on the difficulty of the
# item (so errors of models correlate), and on noise from three hashed draws.
ROWS = """
    select 'model-' || m as model, 'topic-' || (i * {t} // {k}) as topic, i as item,
        i // 5 as passage, (hash(i, m) % 100003) / 100003.0 as confidence,
        (1 / (1 + exp(2.5 * ((hash(i) % 1000)::int - (hash(m + 0.5) % 1000)::int) / 500
            + ((hash(m, i * {t} // {k}) % 1000)::int - 500) / 500))
            > hash(m, i) % 1000 / 1000)::tinyint as score
    from (select {order} from range({{}}, {{}}) r(j))"""
ORDERS = {
    "by model": "j // {k} as m, j % {k} as i",
    "mixed": "j * 7919 % {n} as m, (j // {n}) * 7919 % {k} as i",
}


def write(folder, n_rows, n_models, order):
    """Write files of 100,000 to a million rows each."""
    shape = {"n": n_models, "k": n_rows // n_models, "t": TOPICS}
    rows = ROWS.format(order=ORDERS[order].format(**shape), **shape)
    n_files = max(n_rows // 1_000_000, 10) if order == "mixed" else n_models
    with duckdb.connect(config={"memory_limit": "1GB", "preserve_insertion_order": False}) as c:
        for number in range(n_files):
            start, stop = (n_rows * (number + k) // n_files for k in (0, 1))
            c.execute(f"copy ({rows.format(start, stop)}) to '{folder}/{number:04d}.parquet'")


def summarize(folder, step):
    from skbench import summarize_items

    return summarize_items(f"{folder}/*.parquet", BY, **SUMMARIES[step])


def by_query(folder, step):
    return queries().sql(BY_HAND[step].format(f"{folder}/*.parquet")).fetchall()


def queries():
    """Open a connection with the memory limit of skbench."""
    config = {"preserve_insertion_order": False, "temp_directory": tempfile.gettempdir()}
    return duckdb.connect(config={"memory_limit": "200MB", **config})


def by_topic(folder, step):
    """Compute pivot and covariance by topic; duplicate items are an error."""
    connection, total = queries(), 0.0
    for topic in range(TOPICS):
        rows = connection.sql(
            f"select model, item, score from '{folder}/*.parquet' where topic = 'topic-{topic}'"
        )
        table = rows.df().pivot(index="item", columns="model", values="score").to_numpy()
        total = total + len(table) * np.cov(table.T)
    return np.corrcoef(total)


def estimated(name):
    def run(folder, step):
        import skbench

        g = pickle.loads(Path(folder, "summary.pickle").read_bytes())
        return getattr(skbench, name)().fit(**g.fit_args).estimate()

    return run


def ranked(folder, step):
    """Compute the same from rows in memory."""
    import pyarrow.dataset

    from skbench import leaderboard

    return leaderboard(pyarrow.dataset.dataset(folder, exclude_invalid_files=True).to_table())


STEPS = {step: (summarize, by_query) for step in BY_HAND}
STEPS["item ids and correlation"] = (summarize, by_topic)
STEPS |= {name: (estimated(name), None) for name in ("DirectEstimator", "MixedModel")}
STEPS |= {"EmpiricalBayes": (estimated("EmpiricalBayes"), None), "leaderboard": (ranked, None)}


def measured(who, step, folder):
    """Run one step here; return clock, processor seconds and memory without imports."""
    import skbench.groups
    import skbench.summaries  # noqa: F401

    warnings.simplefilter("ignore")
    clock, processor = time.perf_counter(), time.process_time()
    found = STEPS[step][int(who)](folder, step)
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    print(clock, processor, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    if step.startswith("item ids") and who == "0":
        Path(folder, "summary.pickle").write_bytes(pickle.dumps(found))


def in_own_process(*arguments):
    command = [sys.executable, __file__, "--one", *arguments]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        return f"{'failed: ' + run.stderr[-60:].strip():>28s}"
    clock, processor, memory = (float(figure) for figure in run.stdout.split())
    return f"{clock:10.1f}{processor:9.1f}{memory:9.0f}"


def main(n_rows, n_models="1000", order="by model", only=""):
    n_rows = int(float(n_rows))
    with tempfile.TemporaryDirectory() as folder:
        write(folder, n_rows, int(n_models), order)
        size = sum(path.stat().st_size for path in Path(folder).iterdir()) / 1e6
        print(f"{n_rows:.0e} rows of {n_models} models, {order}, {size:.0f} MB of Parquet")
        print(f"DuckDB {duckdb.__version__}\n\n{'':26s}{'skbench':>28s}{'by hand':>28s}")
        print(f"{'':26s}" + f"{'clock s':>10s}{'proc. s':>9s}{'MB':>9s}" * 2)
        for step, (_, by_hand) in STEPS.items():
            if step.startswith(only):
                whose = [str(k) for k in range(1 if by_hand is None else 2)]
                cells = (in_own_process(who, step, folder) for who in whose)
                print(f"{step:26s}", *cells, sep="", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        measured(*sys.argv[2:])
    else:
        main(*sys.argv[1:] or ["1e6"])
