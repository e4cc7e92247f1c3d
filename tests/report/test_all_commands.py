"""What every command prints: numbers in one spelling, JSON by the schema that is shipped."""

import re

import commands
import pytest

from skbench.report.cli import main

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
