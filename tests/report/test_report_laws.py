"""The same rows in another form give the same numbers, in every command."""

import json

import commands
import pandas as pd
import pytest
from test_options import command_of

CALLS = {
    "report": ["report", "r.csv"],
    "leaderboard": ["leaderboard", "r.csv", "--topics", "topic"],
    "compare": ["compare", "r.csv"],
    "estimate": ["estimate", "r.csv"],
    "estimate of counts": ["estimate", "counts.csv"],
    "gate": ["gate", "old.csv", "r.csv", "--candidate", "model-1", "--margin", "10%"],
    "passk": ["passk", "runs.csv", "-k", "2"],
    "judge": commands.JUDGE,
    "arena": ["arena", "v.csv"],
    "metrics": ["metrics", "j.csv", "--truth", "other", "--prediction", "autorater",
                "--by", "topic"],
}  # fmt: skip
LABELS = ("model", "model_a", "model_b", "topic", "item", "group", "metric", "k")


def save(table, folder, name, suffix=".csv"):
    """Write a table in the format of the suffix, and return its path."""
    path = folder / f"{name}{suffix}"
    if suffix == ".parquet":
        table.to_parquet(path, index=False)
    elif suffix in (".json", ".jsonl"):
        table.to_json(path, orient="records", lines=suffix == ".jsonl")
    else:
        table.to_csv(path, index=False, sep="\t" if ".tsv" in suffix else ",")
    return path


def split(table, folder, name):
    (folder / name).mkdir()
    for part in (0, 1):
        half = len(table) // 2
        save(
            table.iloc[part * half : (part + 1) * half + part * len(table)],
            folder / name,
            f"{part}",
        )
    return folder / name


def renamed(table, folder, name):
    """Models and topics with other names in the same order."""
    votes = {"model_a": "model-a", "model_b": "model-b"}
    known = table.drop(columns=[n for n in table if n not in ("model", "topic", *votes)])
    names = known.map(lambda cell: f"model-{cell}")
    return save(table.assign(**names), folder, name)


FORMS = {
    suffix: lambda t, f, n, suffix=suffix: save(t, f, n, suffix)
    for suffix in (".tsv", ".json", ".jsonl", ".parquet", ".csv.gz", ".csv.xz", ".csv.bz2")
}
FORMS |= {
    "two files": split,
    "rows shuffled": lambda t, f, n: save(t.sample(frac=1, random_state=0), f, n),
    "columns shuffled": lambda t, f, n: save(t[sorted(t, reverse=True)], f, n),
    "unused column": lambda t, f, n: save(t.assign(zeta="unused text"), f, n),
    "renamed": renamed,
}  # fmt: skip


def printed_numbers(name, arguments):
    """What a command prints as JSON: the numbers by the labels of their row and by name."""
    result = commands.run(command_of(name), *arguments, "--json")
    assert result.exit_code in (0, 3, 4), result.output
    numbers = {}

    def collect(value, key):
        if isinstance(value, dict):
            labels = tuple(str(value[n]).replace("model-", "") for n in LABELS if n in value)
            for part in value:
                if part not in (*LABELS, "command_line", "skbench"):
                    collect(value[part], (*key, *labels, part))
        elif isinstance(value, list):
            for part in value:
                collect(part, key)
        elif isinstance(value, (int, float)) or value is None:
            numbers.setdefault(key, []).append(1e99 if value is None else float(value))

    collect(json.loads(result.stdout), ())
    return {key: sorted(values) for key, values in numbers.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("laws")
    commands.write_files(folder)
    return folder


def other_form(folder, tmp_path, arguments, form):
    """The arguments with all files in another form; names of models follow."""
    changed = []
    for word in arguments:
        if word.endswith(".csv"):
            table = pd.read_csv(folder / word)
            word = FORMS[form](table, tmp_path, word.removesuffix(".csv"))
        elif form == "renamed" and word.startswith("model-"):
            word = f"model-{word}"
        changed.append(word)
    return changed


# Files of other formats are read alike, whatever is made of them.
QUICK = ("two files", "rows shuffled", "renamed")
BOTH = pytest.mark.parametrize("forms", [QUICK, pytest.param(FORMS, marks=pytest.mark.slow)],
                               ids=["quick", "all"])  # fmt: skip


@BOTH
@pytest.mark.parametrize("call", CALLS)
def test_the_same_rows_give_the_same_numbers(folder, tmp_path, monkeypatch, call, forms):
    monkeypatch.chdir(folder)
    name, *arguments = CALLS[call]
    expected = printed_numbers(name, arguments)
    wrong = {}
    for form in FORMS if call == "compare" else forms:
        if form == "two files" and call in ("judge", "arena", "metrics"):
            continue  # they read one file
        (tmp_path / form).mkdir()
        found = printed_numbers(name, other_form(folder, tmp_path / form, arguments, form))
        if found.keys() != expected.keys():
            wrong[form] = sorted(found.keys() ^ expected.keys())[:3]
            continue
        gap = max(
            (abs(a - b), key)
            for key, values in expected.items()
            for a, b in zip(values, found[key], strict=True)
        )
        if not gap[0] <= 1e-9:
            wrong[form] = gap
    assert not wrong, "\n".join(map(str, wrong.items()))
