"""All commands print numbers in one format, and JSON that follows its schema."""

import json
import re
from pathlib import Path

import commands
import pytest
from walks import one_in

import skbench
import skbench.report
from skbench.report.cli import COMMANDS, main

SCHEMAS = Path(skbench.report.__file__).parent / "schemas"

# .5, -.5; -0 and -0.00; 5%
MISSPELT = re.compile(r"(?<![\w.])-?\.\d|(?<![\w.])-0(\.0+)?(?![\d.])|\d %")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands")
    commands.write_files(folder)
    return folder


@pytest.fixture
def run(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)

    def run(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main(list(arguments))
        assert stopped.value.code in (0, 3, 4), capsys.readouterr().err
        return capsys.readouterr()

    return run


@pytest.mark.parametrize("arguments", one_in(2, commands.COMMANDS), ids=" ".join)
def test_number_format(run, arguments):
    printed = run(*arguments, "-v", "--rows", "all")
    for line in (printed.out + printed.err).splitlines():
        assert not MISSPELT.search(line), line


@pytest.mark.parametrize("number", [".5", "-.05", "a -0 b", "-0.00", "95 " + "%"])
def test_number_pattern(number):
    assert MISSPELT.search(number)


LISTS = set("models groups pairs topics items judges plans thresholds gaps extremes".split())
KEYS = ("value", "low", "high", "standard_error")
# Names are values, never keys.
NAMES = {"model-0", "model-1", "model-2", "ada", "bob", "autorater", "other", "topic-0"}


def walk(value):
    """Yield all objects within a document, with their keys."""
    for key, inner in value.items():
        yield key, inner
        for part in inner if isinstance(inner, list) else [inner]:
            if isinstance(part, dict):
                yield from walk(part)


def refused(constant):
    raise AssertionError(f"{constant} is no JSON")


def schema_of(command):
    return json.loads((SCHEMAS / f"{command}.json").read_text())


@pytest.mark.parametrize("arguments", commands.COMMANDS, ids=" ".join)
def test_json_follows_its_schema(run, arguments):
    jsonschema = pytest.importorskip("jsonschema")
    document = json.loads(run(*arguments, "--json").out, parse_constant=refused)
    validator = jsonschema.Draft202012Validator(schema_of(arguments[0]))
    validator.validate(document)
    for key in validator.schema["required"]:
        assert not validator.is_valid({k: v for k, v in document.items() if k != key})
    assert list(document)[:3] == ["skbench", "command", "confidence_level"]
    assert (document["skbench"], document["command"]) == (skbench.__version__, arguments[0])
    level = document["confidence_level"]
    assert level is None if arguments[0] == "doctor" else 0.95 <= level < 1
    assert arguments[0] == "doctor" or any(document.get(name) for name in LISTS)
    for key, value in walk(document):
        assert key not in NAMES
        if key in LISTS:
            assert isinstance(value, list) and all(isinstance(row, dict) for row in value)
        if key == "ties":
            assert value and all(isinstance(letter, str) for letter in value)
        if key in KEYS:
            assert value is None or type(value) in (int, float)


def test_every_command_with_json_has_a_schema():
    jsonschema = pytest.importorskip("jsonschema")
    assert {path.stem for path in SCHEMAS.iterdir()} == COMMANDS.keys() - {"demo"}
    for command in COMMANDS.keys() - {"demo"}:
        schema = schema_of(command)
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["additionalProperties"] is False
        for rows in (part for part in schema["properties"].values() if part.get("items")):
            fields = rows["items"].get("properties", {}).values()
            assert all("description" in field for field in fields)
