"""What every command prints: numbers in one spelling, JSON by the schema that is shipped."""

import json
import re
from pathlib import Path

import commands
import pytest

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


@pytest.mark.parametrize("arguments", commands.COMMANDS, ids=" ".join)
def test_numbers_are_spelt_alike(run, arguments):
    printed = run(*arguments, "-v", "--rows", "all")
    for line in (printed.out + printed.err).splitlines():
        assert not MISSPELT.search(line), line


@pytest.mark.parametrize("number", [".5", "-.05", "a -0 b", "-0.00", "95 " + "%"])
def test_what_is_misspelt_is_found(number):
    assert MISSPELT.search(number)


def schema_of(command):
    return json.loads((SCHEMAS / f"{command}.json").read_text())


@pytest.mark.parametrize("arguments", commands.COMMANDS, ids=" ".join)
def test_json_is_as_its_schema_says(run, arguments):
    jsonschema = pytest.importorskip("jsonschema")
    document = json.loads(run(*arguments, "--json").out)
    schema = schema_of(arguments[0])
    jsonschema.Draft202012Validator(schema).validate(document)
    for key in schema["required"]:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({k: v for k, v in document.items() if k != key}, schema)


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
