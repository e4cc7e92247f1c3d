"""Run `skbench gate` for action.yml: its summary, outputs and annotations, then its exit code."""

import json
import os
import secrets
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

OPTIONS = ("candidate", "by", "worst", "missing", "undecided", "save-baseline")
LEVELS = {"pass": "notice", "undecided": "warning"}


def asked(name):
    """An input of the action."""
    return os.environ.get("SKBENCH_" + name.upper().replace("-", "_"), "")


def option(name, value):
    # With "=", a value that starts with "-" is one still.
    return [f"--{name}={value}"] if value else []


def command(old, **changed):
    """The words of a gate of the results against `old`; with other options, if asked."""
    given = {name: asked(name) for name in OPTIONS} | changed
    options = [word for name, value in given.items() for word in option(name, value)]
    options += [*option("margin", asked("margin")), *shlex.split(asked("arguments")), "--json"]
    return [sys.executable, "-m", "skbench", "gate", *options, "--", old, asked("results")]


def mistyped():
    """What is wrong with the inputs that are of the action alone; else nothing."""
    if asked("no-baseline") not in ("fail", "pass"):
        return f'no-baseline must be "fail" or "pass", got {asked("no-baseline")!r}.'
    try:
        shlex.split(asked("arguments"))
    except ValueError as error:
        return f"arguments {asked('arguments')!r} cannot be split: {error}."
    return ""


def run(folder, old, **changed):
    """Exit code, document (None without) and the notes of a gate, which go to the log."""
    kept = asked("save-baseline")
    # The gate refuses to write a file that it reads, as one is here that moves on.
    stored = folder / Path(kept).name
    words = command(old, **{"save-baseline": kept and str(stored)} | changed)
    done = subprocess.run(words, capture_output=True, encoding="utf-8", errors="replace")
    token = secrets.token_hex(16)  # names in the notes are no commands to the runner
    print(f"::stop-commands::{token}\n{done.stderr}\n::{token}::", flush=True)
    if kept and stored.exists():
        shutil.move(stored, kept)
    document = json.loads(done.stdout) if done.returncode in (0, 3, 4) else None
    return done.returncode, document, done.stderr


def without_baseline(folder):
    """Verdict, exit code and text where there is no baseline yet; stores one if asked to."""
    old, new = asked("baseline"), asked("save-baseline")
    words = f"There is no baseline {old!r} yet"
    if asked("no-baseline") != "pass":
        remedy = "Set no-baseline: pass to let the first run pass, and save-baseline to store one."
        return "no-baseline", 1, f"{words}. {remedy}"
    if not new:
        return (
            "no-baseline",
            0,
            f"{words}, and nothing was compared. Set save-baseline to store one.",
        )
    # Against themselves results never fail; the options make sure that the next gate can read them.
    same = {"baseline": asked("candidate"), "worst": "", "undecided": "pass"}
    code, _, notes = run(folder, asked("results"), **same)
    if code:
        return "error", code, _last(notes)
    return (
        "no-baseline",
        0,
        f"{words}. The results were stored as {new!r} and compared with nothing.",
    )


def _last(notes):
    """The line of an error."""
    return (notes.strip().splitlines() or ["skbench gate ended without a word."])[-1]


def append(variable, text):
    """Add a line to a file of the runner."""
    with open(os.environ[variable], "a", encoding="utf-8", newline="\n") as file:
        file.write(text + "\n")


def output(name, value):
    """An output of the step, which may have lines."""
    end = secrets.token_hex(16)
    append("GITHUB_OUTPUT", f"{name}<<{end}\n{value}\n{end}")


def main():
    folder = Path(os.environ["RUNNER_TEMP"], f"skbench-gate-{secrets.token_hex(4)}")
    folder.mkdir(parents=True)
    document, path = None, ""
    if told := mistyped():
        verdict, code = "error", 2
    elif not Path(asked("baseline")).exists():
        verdict, code, told = without_baseline(folder)
    else:
        code, document, notes = run(folder, asked("baseline"))
        verdict = "error" if document is None else document["verdict"]
        told = _last(notes) if document is None else document["sentences"][0]
    if document is None:
        text = f"### {'⚠️' if code else 'ℹ️'} {verdict}\n\n{told}\n"
    else:
        text, path = document["markdown"], folder / "gate.json"
        path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    comment = folder / "comment.md"
    comment.write_text(text, encoding="utf-8")
    append("GITHUB_STEP_SUMMARY", text)
    found = {"verdict": verdict, "exit-code": code, "json": path, "comment": text}
    for name, value in (found | {"comment-file": comment}).items():
        output(name, value)
    escaped = told.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    level = "error" if code in (1, 2, 3) else LEVELS.get(verdict, "notice")
    print(f"::{level} title=skbench gate::{escaped}")
    sys.exit(code)


if __name__ == "__main__":
    main()
