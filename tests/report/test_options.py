"""Every option and argument of every command with hostile values: refused in one line, or right."""

from collections import Counter
from copy import copy
from importlib import import_module

import click
import commands
import pytest

from skbench.report.cli import COMMANDS
from skbench.report.options import COMMON

CALLS = {
    "arena": ["v.csv"],
    "compare": ["r.csv", "model-0", "model-1"],
    "doctor": ["r.csv"],
    "estimate": ["r.csv", "--method", "direct"],
    "gate": ["old.csv", "r.csv", "--candidate", "model-1", "--margin", "0.1"],
    "items": ["r.csv"],
    "judge": commands.JUDGE[1:],
    "leaderboard": ["r.csv"],
    "metrics": ["j.csv", "--truth", "other", "--prediction", "autorater", "--by", "topic"],
    "passk": ["runs.csv", "-k", "2"],
    "plan": ["--effect", "3%", "--accuracy", "70%"],
    "report": ["r.csv"],
    "sequential": ["r.csv", "model-0", "model-1"],
    "trend": ["dated.csv", "--order", "day"],
}
HUGE = "1" + 30 * "0"
NUMBERS = ["nan", "inf", "-inf", "-1", "0", "7", "1e400", HUGE, "NaN%"]
TEXTS = ["", "missing column", "folder", "no_such.csv", "/dev/null", "a'b\"c", "\x1b[31m", "a\nb"]
# What is right: 0 is a seed and a label, and any name will do for a file.
RIGHT = {
    "--rows": ["0", "7", HUGE],
    "--seed": ["0", "7"],
    "--correlation": ["-1", "0"],
    "--noise": ["0"],
    "--fail-under": ["0"],
    "--max-items": ["7", HUGE],
    "--positive": ["0"],
    "--event": ["0"],
    "--save-baseline": ["no_such.csv"],
}
FILES = {"--html", "--summary", "--plot", "--state", "--save-baseline", "--output"}
# Words of Python and of other libraries.
RAW = (
    "Error(", "object", "NoneType", "keyword argument", "Expecting value", "codec", "supported formats",
    "could not convert", "not supported between", "X has", "encountered in",
)  # fmt: skip


def command_of(name):
    command = copy(getattr(import_module(f"skbench.report.{name}"), name))
    command.params = [*command.params, *COMMON]
    return command


def cases(name, seen, step):
    """Every `step`-th hostile value in place of an argument, or of an option not in `seen`."""
    command, call = command_of(name), CALLS[name]
    places = [i for i, word in enumerate(call) if not word.startswith("-")]
    for number, param in enumerate(command.params):
        is_file = bool(FILES.intersection(param.opts))
        if isinstance(param, click.Argument):
            start = number if number < len(call) and number in places else len(call)
            made = [[*call[:start], value, *call[start + 1 :]] for value in TEXTS]
        elif param.is_flag or (option := param.opts[0], param.help) in seen:
            continue
        else:
            seen.add((option, param.help))
            values = ["", "folder", "a\0b"] if is_file else [*TEXTS, "a\0b"]
            values += [] if is_file else NUMBERS
            made = [[*call, option, *[value] * param.nargs] for value in values]
        option = max(param.opts, key=len)
        yield from ((command, option, arguments) for arguments in made[number % step :: step])


def verdict(command, option, arguments):
    """What came of a call: "clear", "right", "raw" or "accepted"."""
    result = commands.run(command, *arguments)
    lines = result.stderr.strip().splitlines()
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return "raw"
    if any(raw in line for raw in RAW for line in lines):
        return "raw"
    if result.exit_code in (1, 2):
        reasons = [line for line in lines if line.startswith(("skbench: ", "Error: "))]
        return "clear" if len(reasons) == 1 and len(reasons[0]) > 20 else "raw"
    return "right" if arguments[-1] in RIGHT.get(option, ()) else "accepted"


def walk(walked, names, step):
    seen, counts, wrong = set(), Counter(), []
    for name in names:
        for command, option, arguments in cases(name, seen, step):
            found = verdict(command, option, arguments)
            counts[found] += 1
            if found in ("raw", "accepted"):
                wrong.append((found, name, *arguments))
    walked("options", **counts)
    assert not wrong, "\n".join(map(str, wrong))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    commands.write_files(tmp_path)
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)


def test_hostile_values_of_each_option(folder, walked):
    """Every fourth value; an option that several commands have in the first of them."""
    assert CALLS.keys() == COMMANDS.keys() - {"demo"}
    walk(walked, CALLS, step=4)


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_hostile_values_of_all_options(folder, walked, name):
    walk(walked, [name], step=1)
