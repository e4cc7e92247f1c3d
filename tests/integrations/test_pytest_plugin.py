"""The marker for stochastic tests: verdicts, fixtures, other options of pytest."""

import subprocess
import sys
from collections import defaultdict
from importlib.metadata import entry_points
from xml.etree import ElementTree

import numpy as np
import pytest

from skbench.integrations._stochastic import Runs

PLUGIN = "skbench.integrations.pytest_plugin"
HEAD = """
import random, unittest, pytest
rng = random.Random(0)
stochastic = pytest.mark.stochastic
"""
GOOD = "stochastic(runs=9, min_pass=0.5)"  # as few as can show it


@pytest.fixture
def run(pytester):
    """Run pytest on a file of this code, with the plugin, as an installed one is loaded."""
    installed = any(point.value == PLUGIN for point in entry_points(group="pytest11"))
    load = () if installed else ("-p", PLUGIN)

    def run(code, *options, head=HEAD):
        pytester.makepyfile(test_it=head + code)
        return pytester.runpytest_inprocess(*load, "-p", "no:cacheprovider", *options)

    return run


def chances(p, **settings):
    """Chances of the verdicts and of passing, by all paths, for each p; and the expected runs."""
    p, plan = np.array(p), Runs(**settings)
    ahead, found, expected = {(0, 0): np.ones(p.size)}, defaultdict(lambda: np.zeros(p.size)), 0.0
    for n in range(1, plan.runs + 1):
        reached = defaultdict(float)
        for (passes, fails), chance in ahead.items():
            reached[passes + 1, fails] += chance * p
            reached[passes, fails + 1] += chance * (1 - p)
        ahead = {}
        for (passes, fails), chance in reached.items():
            plan.low, plan.high, plan.verdict = 0.0, 1.0, "undecided"
            plan.passes, plan.fails = (passes, fails - 1) if fails else (passes - 1, 0)
            if plan.add(not fails):
                found[plan.verdict] += chance
                found["passed"] += chance * plan.passed
                expected += chance * n
            else:
                ahead[passes, fails] = chance
    assert not ahead  # the last run always ends it
    return found, expected


def test_no_wrong_pass_beyond_the_level():
    """And what doc/user_guide/continuous_integration.rst says of the number of runs."""
    found, expected = chances([0.6, 0.8, 0.95, 0.98], runs=60, min_pass=0.8)
    assert found["passed"].round(2).tolist() == [0, 0, 0.57, 0.93]
    assert expected.round()[[0, 3]].tolist() == [7, 34]
    assert 0 < found["pass"][1] <= 0.025
    assert np.allclose(found["pass"] + found["fail"] + found["undecided"], 1)


def test_no_wrong_fail_beyond_the_level():
    found, _ = chances([0.5, 0.6, 0.8], runs=30, min_pass=0.8, undecided="pass")
    assert found["fail"].round(2).tolist() == [0.76, 0.36, 0.01]
    assert 0 < found["fail"][2] <= 0.025
    assert np.allclose(found["passed"] + found["fail"], 1)


@pytest.mark.slow
def test_printed_chances_with_a_hundred_runs():
    found, _ = chances([0.9, 0.95], runs=100, min_pass=0.8)
    assert found["passed"].round(2).tolist() == [0.33, 0.92]


@pytest.mark.slow
def test_simulated_tests_of_pytest(run):
    """150 tests that pass just as often as they must: the verdict is rarely wrong."""
    code = """
    @pytest.mark.parametrize("k", range(150))
    @stochastic(40, 0.7, undecided="pass")
    def test_it(k):
        assert rng.random() < 0.7
    """
    outcomes = run(_dedented(code)).parseoutcomes()
    assert outcomes.get("failed", 0) <= 9  # beyond with a chance below 1% at 2.5%


def _dedented(code):
    return "\n".join(line.removeprefix("    ") for line in code.splitlines())


def test_all_runs_pass_or_all_fail(run):
    result = run(
        f"""
@{GOOD}
def test_good(): pass

@stochastic(runs=40, min_pass=0.8, undecided="pass")
def test_bad(): assert 1 == 2, "wrong answer"
""",
        "--strict-markers", "--junitxml=out.xml", "-rA",
    )  # fmt: skip
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([
        "*wrong answer*",
        "*- stochastic test -*",
        "*= stochastic tests =*",
        "test_it.py::test_good pass: 9 of 9 runs passed, 1.000 (95% interval 0.512 to 1.000 at all "
        "looks, min_pass 0.5)",
        "test_it.py::test_bad fail: 0 of 4 runs passed, 0.000 (95% interval 0.000 to 0.765 at all "
        "looks, min_pass 0.8)",
    ])  # fmt: skip
    cases = ElementTree.parse("out.xml").iter("testcase")
    verdicts = [case.find("properties/property").get("value").split(":")[0] for case in cases]
    assert verdicts == ["pass", "fail"]


@pytest.mark.parametrize(("undecided", "outcome"), [("fail", "failed"), ("pass", "passed")])
def test_undecided(run, undecided, outcome):
    code = f"""
@stochastic(runs=12, min_pass=0.5, undecided={undecided!r})
def test_it(count=[]):
    count.append(1)
    assert len(count) % 2
"""
    result = run(code)
    result.assert_outcomes(**{outcome: 1})
    can = {"fail": "pass", "pass": "fail"}[undecided]
    line = f"*undecided: * it can no longer {can} within 12 runs; taken as {undecided}"
    result.stdout.fnmatch_lines([line])
    if undecided == "fail":
        result.stdout.fnmatch_lines(["*assert (2 % 2)*"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("runs=20, min_pass=0.8", "runs=20 is too few*28 runs show*undecided='pass'*"),
        ("runs=3, min_pass=0.8, undecided='pass'", "runs=3 is too few*4 runs show*'fail'*"),
        ("runs=20", "missing a required argument: 'min_pass'"),
        ("runs=20, min_pass=80", "min_pass must be*80*"),
        ("runs=0, min_pass=0.5", "runs must be*0*"),
        ("runs=9, min_pas=0.5", "*min_pas*"),
        ("runs=9, min_pass=0.5, undecided='maybe'", "undecided must be*maybe*"),
    ],
)
def test_a_plan_that_cannot_work_is_an_error(run, arguments, words):
    result = run(f"@stochastic({arguments})\ndef test_it(): pass\n")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"@pytest.mark.stochastic: {words}"])


def test_fixtures_classes_and_parameters(run):
    """Each run has fresh function fixtures and a fresh instance; shared fixtures stay."""
    result = run(
        f"""
made = []

@pytest.fixture(params=["x", "y"])
def fresh(request, tmp_path):
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    made.append("fresh")
    yield request.param
    made.append("gone")

@pytest.fixture(scope="class")
def shared():
    made.append("shared")
    yield
    made.append("closed")

@pytest.mark.{GOOD}
class TestIt:
    def setup_method(self): self.count = 0

    @pytest.mark.parametrize("z", [1, 2])
    def test_it(self, fresh, shared, z, capsys):
        self.count += 1
        assert self.count == 1 and not hasattr(self, "left")
        self.left = True

def test_after():
    assert made.count("fresh") == made.count("gone") == 36
    assert made.count("shared") == made.count("closed") == 1

@{GOOD}
class TestCase(unittest.TestCase):
    def setUp(self): self.count = 0

    def test_it(self):
        self.count += 1
        self.assertEqual(self.count, 1)

    def test_bad(self): self.fail("of unittest")

    def test_skipped(self): self.skipTest("not here")
"""
    )
    result.assert_outcomes(passed=6, failed=1, skipped=1)


def test_errors_skips_and_expected_failures(run):
    result = run(
        f"""
at = []

@pytest.fixture
def breaks():
    at.append(1)
    if len(at) == 3:
        raise RuntimeError("no connection")

@pytest.fixture
def does_not_close():
    yield
    raise RuntimeError("still open")

@{GOOD}
def test_setup(breaks): pass

@{GOOD}
def test_teardown(does_not_close): pass

@{GOOD}
def test_skip():
    at.append(1)
    if len(at) > 5: pytest.skip("later")

@pytest.mark.xfail
@{GOOD}
def test_xfail(): raise ValueError

@pytest.mark.xfail
@{GOOD}
def test_xpass(): pass

@pytest.mark.xfail(strict=True)
@{GOOD}
def test_strict(): pass

@{GOOD}
def test_known(): pytest.xfail("known")

@{GOOD}
def test_plain_error(): return {{}}["answer"]

@pytest.mark.skip
@{GOOD}
def test_never(): pass
"""
    )
    result.assert_outcomes(errors=2, skipped=2, xfailed=2, xpassed=1, failed=2)
    result.stdout.fnmatch_lines(["*no connection*", "*still open*"])


@pytest.mark.parametrize("option", ["-x", "--maxfail=1"])
def test_stops_after_a_failed_test(run, option):
    """What tests share is torn down then, and reported, as pytest does."""
    result = run(
        f"""
@pytest.fixture(scope="module")
def shared():
    yield
    raise RuntimeError("still open")

@{GOOD}
def test_bad(shared): assert 0

def test_after(shared): pass
""",
        option,
    )
    result.assert_outcomes(failed=1, errors=1)


def test_interrupts_end_the_session(run):
    code = f"@{GOOD}\ndef test_it(): pytest.exit('enough')\n\ndef test_after(): pass\n"
    result = run(code)
    assert "enough" in result.stdout.str() and "1 passed" not in result.stdout.str()
    with pytest.raises(KeyboardInterrupt):
        run(f"@{GOOD}\ndef test_it(): raise KeyboardInterrupt\n")


def test_output_is_that_of_the_run_shown(run):
    result = run(f"@{GOOD}\ndef test_it(c=[]):\n    c.append(1); print('run', len(c)); assert 0\n")
    assert result.stdout.str().count("\nrun ") == 1


def test_with_xdist(run):
    result = run(f"@{GOOD}\ndef test_it(): pass\n\n@{GOOD}\ndef test_bad(): assert 0\n", "-n1")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*= stochastic tests =*", "*pass: 9 of 9 runs*"])


def test_nothing_changes_without_the_marker(run):
    code = """
def test_it(request): assert request.node.user_properties == []

def test_bad(): assert 0
"""
    with_it, without = run(code), run(code, "-p", "no:skbench", "-p", f"no:{PLUGIN}")
    lines = [
        [line for line in result.outlines if " in " not in line and not line.startswith("plugins")]
        for result in (with_it, without)
    ]
    assert lines[0] == lines[1]
    assert "stochastic" not in with_it.stdout.str()


def test_loading_imports_nothing_else():
    """Of a plain session too: numpy comes with the first marked test."""
    code = (
        f"import sys, pytest; before = set(sys.modules); import {PLUGIN}; "
        "print(sorted({m.split('.')[0] for m in set(sys.modules) - before}))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    known = {"skbench", "ast", "_ast"} | sys.stdlib_module_names
    assert set(eval(found.stdout)) <= known


def test_the_entry_point_is_declared(pytestconfig):
    text = (pytestconfig.rootpath / "setup.cfg").read_text()
    assert f"pytest11 =\n    skbench = {PLUGIN}\n" in text
