"""What the built package holds, and which versions it asks for."""

import configparser
import fnmatch
import subprocess
import sys
from pathlib import Path

import pytest

import skbench

ROOT = Path(__file__).parents[1]
PACKAGE = Path(skbench.__file__).parent


@pytest.fixture(scope="module")
def config():
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "setup.cfg")
    return config


def test_folders_of_code_are_packages():
    """`packages = find:` passes folders without __init__.py over in silence."""
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert PACKAGE / "stats" / "intervals" in folders
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_other_files_of_the_package_are_installed(config):
    patterns = [
        f"{package.replace('.', '/')}/{pattern.strip()}"
        for package, listed in config["options.package_data"].items()
        for pattern in listed.split(",")
    ]
    others = [
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    ]
    assert "skbench/py.typed" in others
    assert [name for name in others if not any(fnmatch.fnmatch(name, p) for p in patterns)] == []


def test_every_requirement_of_users_has_an_oldest_version(config):
    """CI runs the tests with these; the script refuses a requirement without one."""
    script = ROOT / ".ci" / "oldest.py"
    process = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    lines = process.stdout.splitlines()
    assert "pandas==2.2.2" in lines
    for requirement in config["options"]["install_requires"].split():
        assert requirement.replace(">=", "==") in lines
