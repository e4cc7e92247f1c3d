"""Run `skbench gate` for action.yml, and write its summary, outputs and annotations."""

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


def given(name):
    """Return an input of the action."""
    return os.environ.get("SKBENCH_" + name.upper().replace("-", "_"), "")


def input_error():
    """Return an error in the inputs of the action itself, or an empty string."""
    if given("no-baseline") not in ("fail", "pass"):
        return f'no-baseline must be "fail" or "pass", got {given("no-baseline")!r}.'
    try:
        shlex.split(given("arguments"))
    except ValueError as error:
        return f"arguments {given('arguments')!r} cannot be split: {error}."
    return ""


def run(old, **changed):
    """Return the exit code, the document or None, and the verdict or error; notes go to the log."""
    inputs = {name: given(name) for name in OPTIONS} | changed
    # "=" keeps values that start with "-". The last of two equal options counts.
    options = [f"--{name}={value}" for name, value in inputs.items() if value]
    options = [*shlex.split(given("arguments")), *options, "--json", "--", old, given("results")]
    words = [sys.executable, "-I", "-X", "utf8", "-m", "skbench", "gate", *options]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", errors="replace")
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    token = secrets.token_hex(16)  # the runner must not execute commands in the notes
    print(f"::stop-commands::{token}\n{done.stderr}\n::{token}::", flush=True)
    try:
        document = json.loads(done.stdout)
    except ValueError:
        return 2 if code in (0, 3, 4) else code, None, error_in(done.stderr, code)
    verdict = document["verdict"].upper()
    sentences = [text for text in document["sentences"] if text.upper().startswith(verdict)]
    return code, document, " ".join(sentences)


def error_in(notes, code):
    """Return the line of the error, without suggested commands."""
    lines = [line for line in notes.splitlines() if line.startswith(("skbench: ", "Error: "))]
    killed = " It was killed, possibly because memory ran out." if code == 137 else ""
    none = f"skbench gate {given('arguments')} exited with code {code} and no verdict.{killed}"
    return [none, *lines][-1]


def without_baseline():
    """Return verdict, exit code and text if there is no baseline; store one if requested."""
    problem, new = f"The baseline {given('baseline')!r} does not exist", given("save-baseline")
    if given("no-baseline") != "pass":
        remedy = "Store one in a run with no-baseline: pass and save-baseline, such as on a push."
        return "no-baseline", 1, f"{problem}. {remedy}"
    # Comparing the results with themselves checks that they are readable and above the floor.
    code, document, text = run(given("results"), baseline=given("candidate"), undecided="pass")
    if document is None:
        return "error", code, text
    if code:
        return document["verdict"], code, f"{problem}. The results against themselves: {text}"
    stored = f"The results were stored as {new!r}" if new else "Nothing was stored"
    return "no-baseline", 0, f"{problem}. {stored}, and nothing was compared."


def shortened(text):
    """Shorten a text to the length limit of GitHub comments."""
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}…\n\nThe text is cut at the maximum length of a comment.\n"


def append(variable, text):
    """Append a line to a file of the runner, if it exists."""
    if os.environ.get(variable):
        with open(os.environ[variable], "a", encoding="utf-8", newline="\n") as file:
            file.write(text + "\n")


def output(name, value):
    """Set an output of the step; the value may have several lines."""
    end = secrets.token_hex(16)
    append("GITHUB_OUTPUT", f"{name}<<{end}\n{value}\n{end}")


def main():
    folder = Path(os.environ["RUNNER_TEMP"], f"skbench-gate-{secrets.token_hex(4)}")
    folder.mkdir(parents=True)
    document, path = None, ""
    if message := input_error():
        verdict, code = "error", 2
    elif not os.path.exists(given("baseline")):
        verdict, code, message = without_baseline()
    else:
        code, document, message = run(given("baseline"))
        verdict = "error" if document is None else document["verdict"]
    if document is None:
        text = f"### {'⚠️' if code in (0, 4) else '❌'} {verdict}\n\n{markdown_text(message)}\n"
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
    escaped = shortened(message).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print(f"::{level} title=skbench gate {verdict}::{escaped}")
    sys.exit(code)


if __name__ == "__main__":
    main()
