"""Summaries of a large Parquet file, against the queries one would write by hand.

Writes a table of answers (20 models, 57 topics, items that all models answered,
passages of five items) to a temporary folder, and summarizes it from the path; then
runs in DuckDB, with the same memory, what a user would write for the same columns. Each
in a process of its own: seconds of the clock and of the processor, and the largest
resident memory of the whole process, Python and its libraries included. The check of
item ids by hand gets 4 GB, since it fails in less.

    python benchmarks/engines.py 1e8         # 610 MB on disk, ten minutes
    python benchmarks/engines.py 1e7 "0/1 scores"    # one case alone
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

MODELS, TOPICS, FILES = 20, 57, 10
BY = ["model", "topic"]
CASES = {
    "0/1 scores": {"item": None},
    "real-valued scores": {"item": None, "score": "confidence"},
    "clusters": {"item": None, "cluster": "passage"},
    "item ids checked": {},
}
MEANS = "select model, topic, count(*), avg({0}), var_samp({0}) from '{{}}' group by all"
BY_HAND = {
    "0/1 scores": MEANS.format("score"),
    "real-valued scores": MEANS.format("confidence"),
    "clusters": """
        select model, topic, size, count(*), sum(total), sum(total * total) from (
            select model, topic, passage, count(*) as size, sum(score) as total
            from '{}' group by all)
        group by all""",
    "item ids checked": """
        select max(answers), max(most) from (
            select topic, item, count(*) as answers, max(rows) as most from (
                select model, topic, item, count(*) as rows from '{}' group by all)
            group by all)""",
}
ROWS = f"""
    select 'model-' || (i % {MODELS}) as model, 'topic-' || (i // {MODELS} % {TOPICS}) as topic,
        i // {MODELS} as item,
        i // {MODELS} // {TOPICS} // 5 * {TOPICS} + i // {MODELS} % {TOPICS} as passage,
        (hash(i) % 1000 < 450 + 10 * (i % {MODELS}))::tinyint as score,
        (hash(i + 7) % 100003) / 100003.0 as confidence
    from range({{}}, {{}}) t(i)"""


def write(folder, n_rows):
    with duckdb.connect(config={"memory_limit": "1GB", "preserve_insertion_order": False}) as c:
        for number in range(FILES):
            start, stop = (n_rows * (number + k) // FILES for k in (0, 1))
            c.execute(f"copy ({ROWS.format(start, stop)}) to '{folder}/{number}.parquet'")


def ours(case, pattern):
    from skbench import summarize_items

    summarize_items(pattern, BY, **CASES[case])


def by_hand(case, pattern):
    memory = "4GB" if case == "item ids checked" else "200MB"
    config = {
        "memory_limit": memory,
        "preserve_insertion_order": False,
        "temp_directory": tempfile.gettempdir(),
    }
    with duckdb.connect(config=config) as connection:
        connection.sql(BY_HAND[case].format(pattern)).fetchall()


def measured(who, case, pattern):
    """One run in this process: clock, processor, memory. Imports are not counted."""
    import skbench.summaries  # noqa: F401

    clock, processor = time.perf_counter(), time.process_time()
    {"ours": ours, "by hand": by_hand}[who](case, pattern)
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    print(clock, processor, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def in_own_process(*arguments):
    command = [sys.executable, __file__, "--one", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(figure) for figure in run.stdout.split()]


def main(n_rows):
    with tempfile.TemporaryDirectory() as folder:
        write(folder, n_rows)
        size = sum(path.stat().st_size for path in Path(folder).iterdir()) / 1e6
        print(f"{n_rows:.0e} rows, {size:.0f} MB of Parquet, DuckDB {duckdb.__version__}\n")
        print(f"{'':22s}{'by hand':>28s}{'summarize_items':>28s}{'ratio':>8s}")
        print(f"{'':22s}" + f"{'clock s':>10s}{'proc. s':>9s}{'MB':>9s}" * 2 + f"{'(proc.)':>8s}")
        for case in [sys.argv[2]] if sys.argv[2:] else CASES:
            figures = [in_own_process(w, case, f"{folder}/*.parquet") for w in ("by hand", "ours")]
            cells = "".join(f"{c:10.1f}{p:9.1f}{m:9.0f}" for c, p, m in figures)
            print(f"{case:22s}{cells}{figures[1][1] / figures[0][1]:8.2f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        measured(*sys.argv[2:])
    else:
        main(int(float(sys.argv[1] if sys.argv[1:] else "1e7")))
