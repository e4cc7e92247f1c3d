"""Files are written completely or not at all, also with full disks, signals and readers."""

import itertools
import os
import random
import signal
import stat
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from report.commands import run

from skbench import ItemBank, SequentialMean
from skbench._files import append_whole, whole_file, write_whole
from skbench.report import page
from skbench.report.cli import main

resource = pytest.importorskip("resource", reason="Windows has no limits of resources, no fork.")


def bank(n_models):
    """A bank that is identified by its number of models, several memory pages long."""
    names = pd.MultiIndex.from_product([range(n_models), range(3000)], names=["model", "item"])
    past = names.to_frame(index=False)
    return ItemBank(n_components=1).fit(past.assign(score=(past["item"] % (past["model"] + 2)) > 0))


def state(n_items):
    race = SequentialMean(target=0.5)
    race.update(np.linspace(0, 1, n_items))
    return race


# Two versions of a file, and a function that identifies the version.
BANKS, STATES = [bank(3), bank(5)], [state(11), state(700)]
VERSIONS = {
    "bank": (BANKS, lambda path: len(ItemBank.load(path).models_) in (3, 5)),
    "state": (STATES, lambda path: SequentialMean.load(path).n_items in (11, 700)),
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    scores = np.random.default_rng(0).integers(0, 2, (30, 7))
    rows = pd.DataFrame(scores, columns=[*"abcdef", "old"]).assign(item=range(30))
    rows["new"] = rows["old"]
    rows = rows.melt("item", var_name="model", value_name="score")
    files = {"old": rows["model"] == "old", "new": rows["model"] == "new"}
    files |= {"both": files["old"] | files["new"], "past": rows["model"] < "g"}
    for name, of_file in files.items():
        rows[of_file].to_csv(folder / f"{name}.csv", index=False)
    return folder


def command(text):
    """Return a function that runs a command and returns its error message, if any."""
    name, *words = text.split()

    def written(path, folder):
        done = run(
            getattr(import_module(f"skbench.report.{name}"), name),
            *(folder / word if word.endswith(".csv") else word for word in words),
            path,
        )
        assert done.exit_code in (0, 1, 4), done.stderr
        return done.stderr.splitlines()[-1] if done.exit_code == 1 else None

    return written


def saved(one):
    def written(path, folder):
        try:
            one.save(path)
        except OSError as error:
            return str(error)

    return written


OUTPUTS = {
    "bank": saved(BANKS[0]),
    "state in Python": saved(STATES[0]),
    "page": command("report both.csv --html"),
    "table of a page": command("report both.csv --html"),
    "summary": command("report both.csv --summary"),
    "picture": command("estimate both.csv --method direct --by model --plot"),
    "baseline": command("gate old.csv new.csv --margin 50% --save-baseline"),
    "state": command("sequential both.csv old --target 50% --state"),
    "table": command("plan --past past.csv --choose 3 --output"),
}  # fmt: skip


@pytest.fixture
def full_disk(monkeypatch):
    """Limit the size of all files."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)

    @contextmanager
    def of(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))
        yield
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    return of


@pytest.mark.parametrize("kind", OUTPUTS)
def test_a_full_disk_leaves_the_old_file(kind, tables, tmp_path, full_disk, monkeypatch):
    suffix = {"picture": "svg", "page": "html", "table of a page": "html"}.get(kind, "csv")
    path = target = tmp_path / f"out.{suffix}"
    if kind == "table of a page":
        target = tmp_path / "out.groups.csv"
        monkeypatch.setattr(page, "_MOST_ROWS", (1,))
    if kind in ("picture", "state"):  # which writes caches, or is read first
        assert OUTPUTS[kind](path, tables) is None
    else:
        target.write_text("old")
    old, names = target.read_bytes(), sorted(os.listdir(tmp_path))
    with full_disk(len(old) + 10 if kind == "summary" else 10):
        output = OUTPUTS[kind](path, tables)
    assert str(target) in output and "File too large" in output
    assert target.read_bytes() == old and sorted(os.listdir(tmp_path)) == names


@pytest.mark.parametrize("n_rounds", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_after_a_signal_one_whole_version_is_there(n_rounds, tmp_path):
    paths, rng = {kind: tmp_path / kind for kind in VERSIONS}, random.Random(0)
    reading, writing = os.pipe()
    for number in [signal.SIGINT, signal.SIGTERM, signal.SIGKILL] * n_rounds:
        child = os.fork()
        if not child:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored behind a shell's &
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            try:
                for turn in itertools.count():
                    for kind, path in paths.items():
                        VERSIONS[kind][0][turn % 2].save(path)
                    if turn == 1:
                        os.write(writing, b".")
            finally:
                os._exit(7)
        os.read(reading, 1)
        time.sleep(rng.uniform(0, 0.02))
        os.kill(child, number)
        _, status = os.waitpid(child, 0)
        assert status == (7 << 8 if number == signal.SIGINT else number)
        assert all(VERSIONS[kind][1](path) for kind, path in paths.items())
        left = set(tmp_path.iterdir()) - set(paths.values())
        assert number == signal.SIGKILL or not left
        for path in left:
            path.unlink()


@pytest.mark.parametrize("kind", VERSIONS)
def test_readers_and_writers_of_one_file(kind, tmp_path):
    versions, is_whole = VERSIONS[kind]
    path, errors, until = tmp_path / "file", [], time.monotonic() + 0.7
    versions[0].save(path)

    def repeated(step):
        while time.monotonic() < until:
            try:
                assert step() in (True, None), "torn"
            except Exception as error:
                errors.append(error)

    child = os.fork()
    if not child:
        repeated(lambda: versions[0].save(path))
        os._exit(min(len(errors), 9))
    steps = [lambda: versions[0].save(path), lambda: versions[1].save(path)]
    steps += [lambda: is_whole(path)] * 2
    threads = [threading.Thread(target=repeated, args=[step]) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and os.waitpid(child, 0)[1] == 0
    assert os.listdir(tmp_path) == ["file"]


@pytest.fixture
def folder_of_others():
    """A folder without write permission."""
    with tempfile.TemporaryDirectory() as name:
        folder, root = Path(name), os.geteuid() == 0
        write_whole(folder / "old", "old")
        (folder / "loop").symlink_to("loop")
        os.chmod(folder, 0o555)
        if root:
            os.seteuid(65534)
        try:
            yield folder
        finally:
            if root:
                os.seteuid(0)
            os.chmod(folder, 0o755)


@pytest.mark.parametrize("write", [BANKS[0].save, lambda path: write_whole(path, "new")])
def test_unwritable_paths_raise_errors(write, folder_of_others):
    cases = {
        folder_of_others / "loop": "symbolic links",
        f"{folder_of_others}/new/": "Is a directory",
        folder_of_others / "old": "Permission denied",
        folder_of_others / "new": "Permission denied",
        "/dev/full": "No space left on device",
        "/proc/new": "folder",
        "x" * 300: "File name too long",
        "/dev/null/x": "Not a directory",
        os.sep: "Is a directory",
        "none/x": "folder",
        "a\0b": "null",
        3: "path ",
    }
    for path, cause in cases.items():
        with pytest.raises((OSError, ValueError, TypeError)) as error:
            write(path)
        assert cause in str(error.value) and repr(str(path)).strip("'") in str(error.value)
    assert (folder_of_others / "old").read_text() == "old"
    write(os.devnull)
    assert not os.path.isfile(os.devnull)


@pytest.mark.parametrize("write", [BANKS[0].save, lambda path: write_whole(path, "new")])
def test_modes_links_and_errors(write, tmp_path, monkeypatch):
    path, link = tmp_path / ("x" * 250), tmp_path / "link"
    link.symlink_to(path)
    before = os.umask(0o027)
    write(link)
    os.umask(before)
    assert link.is_symlink() and stat.S_IMODE(path.stat().st_mode) == 0o640
    for mode in (0o600, 0o664):
        path.chmod(mode)
        write(link)
        assert link.is_symlink() and stat.S_IMODE(path.stat().st_mode) == mode
    old = path.read_bytes()
    with pytest.raises(TypeError):
        write_whole(path, None)
    assert path.read_bytes() == old and len(os.listdir(tmp_path)) == 2


@pytest.mark.parametrize("by", ["nobody", "others", "us"])
def test_text_appended_by_others_stays(by, tmp_path, monkeypatch):
    """Appending processes wait for each other; a partial text stays if others appended after it."""
    path = tmp_path / "summary.md"
    path.write_text("old")
    others = threading.Thread(target=append_whole, args=[path, "theirs"])

    def full(_):
        patch.undo()
        if by == "us":
            others.start()
            others.join(0.1)
        elif by == "others":
            with open(path, "a") as file:
                file.write("theirs")
        raise OSError(28, "No space left on device")

    append_whole(path, " new ")
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(OSError, match=r"summary.md.*No space"):
            append_whole(path, "ours")
    if by == "us":
        others.join()
    left = {"nobody": "", "others": "ourstheirs", "us": "theirs"}[by]
    assert path.read_text() == "old new " + left


def test_delayed_signals_take_effect():
    handlers = {  # a shell's & ignores SIGINT
        signal.SIGTERM: lambda *_: came.append("SIGTERM"),
        signal.SIGINT: signal.default_int_handler,
    }
    came, before = [], {number: signal.signal(number, own) for number, own in handlers.items()}
    with pytest.raises(KeyboardInterrupt), tempfile.TemporaryDirectory() as folder:
        with whole_file(f"{folder}/new"):
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.raise_signal(number)
            came.append("written")
    for number, handler in before.items():
        signal.signal(number, handler)
    assert came == ["written", "SIGTERM"]


@contextmanager
def stream(name, file):
    """Redirect a standard stream of the process to a file."""
    number = {"stdout": 1, "stderr": 2}[name]
    before = os.dup(number)
    os.dup2(file.fileno(), number)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, name, open(number, "w", closefd=False))
        patch.setattr(sys, f"__{name}__", getattr(sys, name))
        yield
        getattr(sys, name).flush()
    os.dup2(before, number)


@pytest.mark.parametrize("words", ["--help", "doctor old.csv", "report old.csv --json",
                                   "estimate old.csv --by model --csv"])  # fmt: skip
def test_full_streams(words, tables, capfd):
    """A full stdout is an error, but a full stderr is not."""
    words = [str(tables / word) if word.endswith(".csv") else word for word in words.split()]
    for name, fails in (("stdout", True), ("stderr", False)):
        with open("/dev/full", "w") as full, stream(name, full):
            with pytest.raises(SystemExit) as done:
                main(words)
        assert bool(done.value.code) == fails


@pytest.mark.parametrize("write", [write_whole, append_whole])
def test_writing_to_the_file_of_stdout(write, tmp_path, capfd):
    with open(tmp_path / "all", "w+") as file, stream("stdout", file):
        print("before")
        write("/dev/stdout", "page\n")
        print("after")
    assert (tmp_path / "all").read_text() == "before\npage\nafter\n"
    reading, writing = os.pipe()
    with open(writing, "w") as pipe, stream("stdout", pipe):
        write("/dev/stdout", "page")
    assert os.read(reading, 99) == b"page"
