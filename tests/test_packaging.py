"""Contents of the built package, required versions, and files that repeat its metadata."""

import configparser
import fnmatch
import re
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


def tracked_with(pattern, *within):
    """Tracked files in which a pattern stands; [x] in it keeps this file out."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone")
    command = ["git", "grep", "-lIE", pattern, "--", *within]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.split()


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_unsettled_metadata_is_in_one_file(config):
    placeholders = set(tracked_with("[O]WNER|[g]ithub[.]com/[^ ]*/skbench"))
    assert "setup.cfg" in placeholders and placeholders <= {"setup.cfg", "CONTRIBUTING.md"}
    assert config["metadata"]["url"] in config["metadata"]["project_urls"]


def test_no_registry_has_its_host_named():
    hosts = "[p]ypi[.]org|[p]ythonhosted[.]org|[a]naconda[.](org|com)|[n]pmjs[.](org|com)"
    assert tracked_with(hosts) == []


def test_the_version_stands_in_one_place(config):
    """Beside the changelog, and what was written by a run."""
    assert config["metadata"]["version"] == "attr: skbench.__version__"
    version = re.escape(skbench.__version__)
    not_written = [":!tests", ":!benchmarks", ":!*.inc"]
    files = tracked_with(rf"(^|[^0-9.]){version}([^0-9.]|$)", *not_written)
    assert files == ["CHANGELOG.md", "skbench/__init__.py"]


def test_pythons_are_those_that_ci_tests(config):
    named = re.findall(r"Python :: (3\.\d+)$", config["metadata"]["classifiers"], re.MULTILINE)
    assert config["options"]["python_requires"] == f">={named[0]}"
    assert re.findall(r'"(3\.\d+)"', read("conda/recipe.yaml")) == named[:1]
    matrix = re.search(r"python: \[(.*)\]", read(".github/workflows/ci.yml"))[1]
    assert matrix == ", ".join(f'"{python}"' for python in named)
    badge = rf"!\[Python {', '.join(named)}\]\(\S+/python-{'_%7C_'.join(named)}-"
    assert re.search(badge, read("README.md"))


def test_ci_runs_what_others_run():
    command = next(line for line in read("README.md").splitlines() if "python -m pytest" in line)
    assert f"- run: {command}\n" in read(".github/workflows/ci.yml")
    ruff = re.search(r"ruff==([0-9.]+)", read(".ci/run"))[1]
    assert f"ruff-pre-commit\n    rev: v{ruff}\n" in read(".pre-commit-config.yaml")


def test_the_recipe_asks_for_what_setup_cfg_asks_for(config):
    """And for what the extra `all` asks for: recipes have no extras."""
    extras = config["options.extras_require"]
    texts = [config["options"]["install_requires"]]
    texts += [extras[name] for name in re.findall(r"%\((\w+)\)s", extras["all"])]
    wanted = {line for text in texts for line in text.split("\n") if re.match(r"\w", line)}
    recipe = read("conda/recipe.yaml")
    run = recipe[recipe.index("\n  run:") : recipe.index("\ntests:")]
    asked = re.findall(r"- ([^\s$]+) (>=[0-9.]+)$", run.replace("-base", ""), re.MULTILINE)
    assert sorted(name + version for name, version in asked) == sorted(wanted)
    backend = re.search(r'requires = \["(\w+)(>=\d+)"\]', read("pyproject.toml"))
    assert f"    - {backend[1]} {backend[2]}\n" in recipe
    scripts = config["options.entry_points"]["console_scripts"].strip()
    assert f"      - {scripts}\n" in recipe
    assert f"  summary: {config['metadata']['description']}\n" in recipe


def test_the_citation_agrees_with_the_metadata(config):
    metadata, citation = config["metadata"], read("CITATION.cff")
    licence = f"license: {metadata['license_expression']}\n"
    assert licence in citation and licence in read("conda/recipe.yaml")
    assert f"  - name: {metadata['author']}\n" in citation
    keywords = re.findall(r"^  - ([^:\n]+)$", citation, re.MULTILINE)
    assert keywords and set(keywords) <= set(metadata["keywords"].split(", "))
    assert metadata["description"].split(",")[0].lower() in citation


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")), ids=lambda page: page.name)
def test_files_that_pages_at_the_root_link_to_exist(page):
    links = re.findall(r"\]\(((?!https?:|#|\.\./\.\.)[^)]+)\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (ROOT / link).exists()] == []
