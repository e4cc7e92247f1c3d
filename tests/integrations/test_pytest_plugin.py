"""The marker for stochastic tests: verdicts, fixtures, other options of pytest."""

import subprocess
import sys
from collections import defaultdict
from importlib.metadata import entry_points
from xml.etree import ElementTree

import pytest

from skbench.integrations._stochastic import Runs
from skbench.integrations.pytest_plugin import _settings

PLUGIN = "skbench.integrations.pytest_plugin"
HEAD = """
import random, unittest, pytest
rng = random.Random(0)
stochastic = pytest.mark.stochastic
"""
GOOD = "stochastic(runs=6, min_pass=0.5)"  # as few as can show it


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
    """Chances of the verdicts and of passing, by all paths, and the expected runs."""
    plan, ahead, found = Runs(**settings), {(0, 0): 1.0}, defaultdict(float)
    for n in range(1, plan.runs + 1):
        reached = defaultdict(float)
        for (passes, fails), chance in ahead.items():
            reached[passes + 1, fails] += chance * p
            reached[passes, fails + 1] += chance * (1 - p)
        ahead = {}
        for (passes, fails), chance in reached.items():
            plan.low, plan.high = 0.0, 1.0
            plan.passes, plan.fails = (passes, fails - 1) if fails else (passes - 1, 0)
            if plan.add(not fails):
                found[plan.verdict] += chance
                found["passed"] += chance * plan.passed
                found["runs"] += chance * n
            else:
                ahead[passes, fails] = chance
    assert not ahead  # the last run always ends it
    return {name: round(value, 3) for name, value in found.items()}


def test_chances_by_all_paths():
    """As are those below, printed in doc/user_guide/continuous_integration.rst."""
    found = chances(0.98, runs=40, min_pass=0.8)
    assert found["passed"] == found["pass"] == 0.969 and found["runs"] == 25.593
    found = chances(0.6, runs=30, min_pass=0.8, undecided="pass")
    assert found["fail"] == 0.673 and found["passed"] == 0.327


@pytest.mark.slow
def test_printed_chances():
    printed = {(0.8, 40): 0.024, (0.95, 40): 0.757, (0.95, 60): 0.939}
    printed |= {(0.9, 100): 0.747, (0.9, 200): 0.969}
    assert {(p, n): chances(p, runs=n, min_pass=0.8)["passed"] for p, n in printed} == printed
    found = [chances(p, runs=30, min_pass=0.8, undecided="pass")["fail"] for p in (0.5, 0.8)]
    assert found == [0.936, 0.025]


@pytest.mark.slow
def test_simulated_tests_of_pytest(run):
    """150 tests that pass just as often as they must: the verdict is rarely wrong."""
    code = """
@pytest.mark.parametrize("k", range(150))
@stochastic(40, 0.7, undecided="pass")
def test_it(k):
    assert rng.random() < 0.7
"""
    outcomes = run(code).parseoutcomes()
    assert outcomes.get("failed", 0) <= 9  # beyond with a chance below 1% at 2.5%


def test_verdicts(run):
    result = run(
        f"""
@{GOOD}
def test_good(): pass

@stochastic(runs=40, min_pass=0.8, undecided="pass")
def test_bad(c=[]):
    c.append(1)
    print("run", len(c))
    assert 1 == 2, "wrong answer"

@pytest.mark.parametrize("undecided", [
    pytest.param(x, marks=stochastic(12, 0.5, undecided=x)) for x in ("fail", "pass")
])
def test_undecided(undecided, counts=dict(fail=0, **{{"pass": 0}})):
    counts[undecided] += 1
    assert counts[undecided] % 2

@stochastic(runs=16, min_pass=0.8)
def test_few(): pass
""",
        "--strict-markers", "--junitxml=out.xml", "-rA",
    )  # fmt: skip
    result.assert_outcomes(passed=2, failed=2, errors=1)
    result.stdout.fnmatch_lines([
        "@pytest.mark.stochastic: runs=16 *",
        "*wrong answer*",
        "*- stochastic test -*",
        "*assert (* % 2)*",
        "*= stochastic tests =*",
        "test_it.py::test_good pass: 6 of 6 runs passed, 1.000 (95% interval 0.541 to 1.000, "
        "min_pass 0.5)",
        "*pass? undecided: * 12 runs; * pass",
        "test_it.py::test_bad fail: 0 of 5 runs passed, 0.000 (95% interval 0.000 to 0.522, "
        "min_pass 0.8)",
        "*fail? undecided: * 12 runs; * fail",
    ])  # fmt: skip
    assert result.stdout.str().count("\nrun ") == 1  # the output is that of the run shown
    cases = ElementTree.parse("out.xml").iter("testcase")
    verdicts = [case.find("properties/property") for case in cases]
    verdicts = [found.get("value").split(":")[0] for found in verdicts if found is not None]
    assert verdicts == ["pass", "fail", "undecided", "undecided"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"runs": 16, "min_pass": 0.8}, "runs=16.*17 .*undecided='pass'"),
        (
            {"runs": 2, "min_pass": 0.8, "undecided": "pass"},
            "runs=2.*3 .*'fail'",
        ),
        ({"runs": 20}, "missing a required argument: 'min_pass'"),
        ({"runs": 20, "min_pass": 80}, "min_pass must be.*80"),
        ({"runs": 0, "min_pass": 0.5}, "runs must be.*0"),
        ({"runs": 9, "min_pas": 0.5}, "min_pas"),
        ({"runs": 9, "min_pass": 0.5, "undecided": "maybe"}, "undecided must be.*maybe"),
    ],
)
def test_a_plan_that_cannot_work_is_an_error(arguments, words):
    with pytest.raises(pytest.fail.Exception, match=f"^@pytest.mark.stochastic: .*{words}"):
        _settings(pytest.mark.stochastic(**arguments).mark)


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
    assert made.count("fresh") == made.count("gone") == 24
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
""",
        "--tb=native",
    )
    result.assert_outcomes(errors=2, skipped=2, xfailed=2, xpassed=1, failed=2)
    result.stdout.fnmatch_lines(["*no connection*", "*still open*"])


@pytest.mark.parametrize("option", ["-x", pytest.param("--maxfail=1", marks=pytest.mark.slow)])
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


SUBTESTS = """
@stochastic(runs=40, min_pass=0.5)
class TestSub(unittest.TestCase):
    def test_bad(self):
        with self.subTest(): self.fail("always")

    def test_good(self):
        with self.subTest(): pass

@stochastic(runs=40, min_pass=0.5)
@pytest.mark.parametrize("bad", [False, True])
def test_fixture(bad, subtests):
    with subtests.test(): assert not bad
"""


def test_subtests_are_refused(run, pytestconfig):
    """pytest would report each, whatever the verdict."""
    code = SUBTESTS
    if not any(
        pytestconfig.pluginmanager.has_plugin(name) for name in ("subtests", "_pytest.subtests")
    ):
        pytest.skip("this pytest has no subtests")
    result = run(code, "-x", "--maxfail=9")
    result.assert_outcomes(failed=4)
    assert "stochastic tests =" not in result.stdout.str()
    result.stdout.fnmatch_lines(["@pytest.mark.stochastic: * subtest *parametrize."] * 4)


def test_a_run_fails_that_pytest_reports_as_failed(run, pytester):
    pytester.makeconftest("""
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "call" and "bad" in item.name:
        report.outcome = "failed"
    return report
""")
    result = run(f"@{GOOD}\ndef test_bad(): pass\n\n@{GOOD}\ndef test_good(): pass\n")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*::test_bad *: 0 of 1*fail", "*::test_good pass: 6 of 6*"])


def test_runs_start_as_the_first(run):
    """Markers and properties that a run adds, and a fixture of a class without one."""
    result = run(
        """
at, made = [], []

@pytest.fixture(scope="class")
def shared(): made.append(1)

@stochastic(runs=13, min_pass=0.5)
def test_marked(request, record_property, shared):
    at.append(1)
    record_property("cost", len(at))
    if len(at) == 1:
        request.applymarker(pytest.mark.xfail(strict=True))
        assert 0

def test_after(): assert len(made) == len(at)
""",
        "--junitxml=out.xml",
    )
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*pass: * runs passed*"])
    found = [p.attrib for p in ElementTree.parse("out.xml").iter("property")]
    assert [p["name"] for p in found] == ["cost", "skbench_stochastic"]
    assert int(found[0]["value"]) > 6


def test_a_replaced_function_stays(run, pytester):
    """Before the first run and between runs, as for a test without the marker."""
    pytester.makeconftest("""
import functools

calls = []

def pytest_collection_modifyitems(items):
    for item in items:
        def replaced(*args, _old=item.obj, **kwargs):
            calls.append(1)
            return _old(*args, **kwargs)
        item.obj = functools.wraps(item.obj)(replaced)

def pytest_sessionfinish():
    print("replaced", len(calls))
""")
    result = run(f"""
@{GOOD}
def test_it(): pass

@{GOOD}
class TestIt:
    def test_it(self): pass
""")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*replaced 12"])


def test_refused_markers(run, pytester):
    """On a doctest; twice in one place. The nearest one counts otherwise."""
    pytester.makeconftest(f"""
import pytest

def pytest_collection_modifyitems(items):
    for item in items:
        if not isinstance(item, pytest.Function):
            item.add_marker(pytest.mark.{GOOD})
""")
    result = run(
        f"""
def documented():
    '''
    >>> 1
    1
    '''

@{GOOD}
@stochastic(runs=20, min_pass=0.5)
def test_twice(): pass

@stochastic(runs=2, min_pass=0.99)
class TestNear:
    @{GOOD}
    def test_it(self): pass
""",
        "--doctest-modules",
    )
    result.assert_outcomes(errors=2, passed=1)
    result.stdout.fnmatch_lines([
        "@pytest.mark.stochastic: *DoctestItem*",
        "@pytest.mark.stochastic: *",
        "*::test_it pass: 6 of 6*",
    ])  # fmt: skip


TIMER = """
import pytest
from types import SimpleNamespace

log = []

class Hooks:
    @pytest.hookspec(firstresult=True)
    def pytest_timeout_set_timer(item, settings): pass

    @pytest.hookspec(firstresult=True)
    def pytest_timeout_cancel_timer(item): pass

def pytest_addhooks(pluginmanager): pluginmanager.add_hookspecs(Hooks)

@pytest.hookimpl(trylast=True)
def pytest_timeout_set_timer(item, settings): log.append("set")

def pytest_timeout_cancel_timer(item): log.append("cancel")

@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    settings = SimpleNamespace(func_only=FUNC_ONLY)
    item.config.hook.pytest_timeout_set_timer(item=item, settings=settings)
    yield
    item.config.hook.pytest_timeout_cancel_timer(item=item)

def pytest_runtest_call(item): log.append("run")

def pytest_sessionfinish(): print("timer:", *log)
"""


def test_failed_runs_are_not_retried(run):
    """By pytest-retry, which looks at the nearest of these markers, in each run."""
    result = run(f"""
@pytest.mark.flaky(retries=2)
@{GOOD}
def test_it(request):
    assert request.node.get_closest_marker("flaky").kwargs == {{"condition": False}}
""")
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize("func_only", [False, True])
def test_the_limit_of_pytest_timeout_is_for_each_run(run, pytester, func_only):
    """The hooks are those of pytest-timeout; the first start allows for imports."""
    pytester.makeconftest(TIMER.replace("FUNC_ONLY", str(func_only)))
    result = run(f"@{GOOD}\ndef test_it(): pass\n", "-p", "no:timeout")
    again = "" if func_only else "cancel set "
    words = f"timer: set {again}" + f"run {again}" * 5 + "run cancel"
    result.stdout.fnmatch_lines([f"*{words}"])


def test_properties_of_others(run):
    """Whatever their shape, also where no test has the marker."""
    result = run("""
def test_it(request):
    request.node.user_properties += [{"cost": 3}, (1, 2, 3)]
""")
    result.assert_outcomes(passed=1)
    assert result.ret == 0


def test_pytest_may_come_second(pytester):
    """It warns where a package with a plugin is loaded before it could rewrite its assertions."""
    info = pytester.mkdir("skbench-9.dist-info")
    (info / "METADATA").write_text("Name: skbench\nVersion: 9\n")
    (info / "RECORD").write_text("skbench/__init__.py,,\n")
    (info / "entry_points.txt").write_text(f"[pytest11]\nskbench = {PLUGIN}\n")
    pytester.makepyfile("def test_it(): pass")
    code = "import sys, skbench, pytest; sys.path.append('.'); sys.exit(pytest.main(['-Werror']))"
    result = pytester.run(sys.executable, "-c", code)
    assert result.ret == 0
    result.assert_outcomes(passed=1)


@pytest.mark.slow
def test_interrupts_end_the_session(run):
    code = f"@{GOOD}\ndef test_it(): pytest.exit('enough')\n\ndef test_after(): pass\n"
    result = run(code)
    assert "enough" in result.stdout.str() and "1 passed" not in result.stdout.str()
    with pytest.raises(KeyboardInterrupt):
        run(f"@{GOOD}\ndef test_it(): raise KeyboardInterrupt\n")


@pytest.mark.slow
def test_with_xdist(run):
    result = run(f"@{GOOD}\ndef test_it(): pass\n\n@{GOOD}\ndef test_bad(): assert 0\n", "-n1")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*= stochastic tests =*", "*pass: 6 of 6 runs*"])


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
