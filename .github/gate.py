"""Run `skbench gate` for action.yml: its summary, outputs and annotations, then its exit code."""

import json
import os
import secrets
import shlex
import subprocess
import sys
from pathlib import Path

from skbench._numbers import markdown_text

OPTIONS = ("candidate", "by", "worst", "missing", "undecided", "save-baseline", "margin")
LONGEST = 60_000  # GitHub refuses comments above 65,536 characters


def asked(name):
    """An input of the action."""
    return os.environ.get("SKBENCH_" + name.upper().replace("-", "_"), "")


def mistyped():
    """What is wrong with the inputs that are of the action alone; else nothing."""
    if asked("no-baseline") not in ("fail", "pass"):
        return f'no-baseline must be "fail" or "pass", got {asked("no-baseline")!r}.'
    try:
        shlex.split(asked("arguments"))
    except ValueError as error:
        return f"arguments {asked('arguments')!r} cannot be split: {error}."
    return ""


def run(old, **changed):
    """Exit code, document (None without) and verdict or error in words; notes go to the log."""
    given = {name: asked(name) for name in OPTIONS} | changed
    # With "=", a value that starts with "-" is one still. The last of two options counts.
    options = [f"--{name}={value}" for name, value in given.items() if value]
    options = [*shlex.split(asked("arguments")), *options, "--json", "--", old, asked("results")]
    words = [sys.executable, "-I", "-X", "utf8", "-m", "skbench", "gate", *options]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", errors="replace")
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    token = secrets.token_hex(16)  # names in the notes are no commands to the runner
    print(f"::stop-commands::{token}\n{done.stderr}\n::{token}::", flush=True)
    try:
        document = json.loads(done.stdout)
    except ValueError:
        return 2 if code in (0, 3, 4) else code, None, error_in(done.stderr, code)
    verdict = document["verdict"].upper()
    sentences = [text for text in document["sentences"] if text.upper().startswith(verdict)]
    return code, document, " ".join(sentences)


def error_in(notes, code):
    """The line of an error, without the commands that come after it."""
    lines = [line for line in notes.splitlines() if line.startswith(("skbench: ", "Error: "))]
    killed = " It was killed, as it is where memory runs out." if code == 137 else ""
    none = f"skbench gate {asked('arguments')} ended with exit code {code} and no verdict.{killed}"
    return [none, *lines][-1]


def without_baseline():
    """Verdict, exit code and text where there is no baseline yet; stores one if asked to."""
    words, new = f"There is no baseline {asked('baseline')!r}", asked("save-baseline")
    if asked("no-baseline") != "pass":
        remedy = "A run with no-baseline: pass and save-baseline stores one, such as on a push."
        return "no-baseline", 1, f"{words}. {remedy}"
    # Against themselves: shows that the results can be read, and are not below a floor.
    code, document, told = run(asked("results"), baseline=asked("candidate"), undecided="pass")
    if document is None:
        return "error", code, told
    if code:
        return document["verdict"], code, f"{words}. The results against themselves: {told}"
    stored = f"The results were stored as {new!r}" if new else "Nothing was stored"
    return "no-baseline", 0, f"{words}. {stored}, and nothing was compared."


def shortened(text):
    """A text that GitHub takes as a comment."""
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}…\n\nThe rest is left out, as a comment may not be longer.\n"


def append(variable, text):
    """Add a line to a file of the runner, if it has one."""
    if os.environ.get(variable):
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
    elif not os.path.exists(asked("baseline")):
        verdict, code, told = without_baseline()
    else:
        code, document, told = run(asked("baseline"))
        verdict = "error" if document is None else document["verdict"]
    if document is None:
        text = f"### {'⚠️' if code in (0, 4) else '❌'} {verdict}\n\n{markdown_text(told)}\n"
    else:
        text, path = document["markdown"], folder / "gate.json"
        path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    text, comment = shortened(text), folder / "comment.md"
    comment.write_text(text, encoding="utf-8")
    append("GITHUB_STEP_SUMMARY", text)
    found = {"verdict": verdict, "exit-code": code, "json": path, "comment": text}
    for name, value in (found | {"comment-file": comment}).items():
        output(name, value)
    level = "error" if code not in (0, 4) else "notice" if verdict == "pass" else "warning"
    escaped = shortened(told).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print(f"::{level} title=skbench gate {verdict}::{escaped}")
    sys.exit(code)


if __name__ == "__main__":
    main()
