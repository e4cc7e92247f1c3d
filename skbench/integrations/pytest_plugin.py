"""A marker of pytest for stochastic tests: ``@pytest.mark.stochastic(runs=40, min_pass=0.8)``.

pytest loads this file in every session by the entry point ``pytest11`` in setup.cfg. It imports
pytest, and everything else when a marked test runs.
"""

# Private to pytest, looked at in 8.0 and 9.2: `_obj`, `_instance`, `_request`, `_initrequest` and
# `_report_sections` of an item, `_setupstate` of the session, and the words "[XPASS(strict)]".

import copy
from inspect import signature
from typing import NamedTuple

import pytest

_PROPERTY = "skbench_stochastic"
_ABORTS = (pytest.exit.Exception, KeyboardInterrupt)
_OBJECT = ("_instance", "_obj")
_RUNNING, _LIMIT = pytest.StashKey[bool](), pytest.StashKey[object]()
_SUBTESTS = (
    "pytest reports each subtest of each run as a test of its own. "
    "Leave the subtests out: assert in the test itself, or use pytest.mark.parametrize."
)


def pytest_configure(config):
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        "stochastic(runs, min_pass, confidence_level=0.95, undecided='fail'): run the test up to "
        "`runs` times, until an interval of its probability to pass lies above `min_pass`, or "
        "below (skbench).",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Run a marked test; leave all others to pytest."""
    mark = item.get_closest_marker("stochastic")
    shown = item.config.getoption("setuponly", False)  # no test is run
    if mark is None or shown or not isinstance(item, pytest.Function):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    try:
        _repeat(item, mark, nextitem)
    finally:
        item._request, item.funcargs = False, None  # as pytest does after a run
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(trylast=True)
def pytest_runtest_setup(item):
    """Refuse the marker of what is no function, as a doctest, and two that differ in one place."""
    marks = list(item.iter_markers_with_node("stochastic"))
    if marks and not isinstance(item, pytest.Function):
        _refuse(f"it is for test functions, and this is a {type(item).__name__}")
    if any(node is marks[0][0] and mark != marks[0][1] for node, mark in marks):
        _refuse("two markers in one place differ; leave one out")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item):
    """Refuse a report from within a run, which is of a subtest."""
    if item.stash.get(_RUNNING, False):
        _refuse(_SUBTESTS)


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_timeout_set_timer(item, settings):
    """Note a limit that pytest-timeout sets to a whole test; it is one for each run."""
    if not settings.func_only:
        item.stash[_LIMIT] = settings


def pytest_terminal_summary(terminalreporter):
    """Print the verdict and the interval of each marked test."""
    found = {
        report.nodeid: getattr(report, _PROPERTY)
        for reports in terminalreporter.stats.values()
        for report in reports
        if hasattr(report, _PROPERTY)
    }
    if found:
        terminalreporter.section("stochastic tests")
        for name, words in found.items():
            terminalreporter.write_line(f"{name} {words}")


class _Phase(NamedTuple):
    """Set-up, call or tear-down of a run."""

    call: pytest.CallInfo
    report: pytest.TestReport


def _repeat(item, mark, nextitem):
    """Run a test until its runs decide; report one set-up, one call and one tear-down."""
    # To pytest another test of the same class or module: what those share stays between runs.
    neighbor = copy.copy(item)
    counted, last, seconds, renew = [], {}, 0.0, _renewal(item)

    def set_up():
        item.ihook.pytest_runtest_setup(item=item)
        if not counted:
            counted.append(_settings(mark))
            _restart_limit(item)  # which is not for the imports

    while True:
        phases, stop = [_phase(item, "setup", set_up)], True
        if phases[0].report.passed:
            (runs,) = counted
            one = _phase(item, "call", lambda: item.ihook.pytest_runtest_call(item=item))
            seconds += one.report.duration
            passed = _passed(one)
            if passed is None:
                phases.append(one)
            else:
                last[passed] = one
                stop = runs.add(passed)
                if stop:
                    # The other outcome is never alone: `Runs` refuses plans that it could have.
                    one = last[runs.passed]
                    _describe(item, one.report, str(runs), seconds)
                    phases.append(one)
        if not stop:
            torn = _tear_down(item, neighbor)
            if not torn.report.failed:
                renew()
                continue
            phases.append(torn)
        for phase in phases:
            _log(item, phase)
        if item.session.shouldfail or item.session.shouldstop:
            nextitem = None
        if stop:
            _log(item, _tear_down(item, nextitem))
        else:  # what is shared is left, and pytest tears each test down once
            item.session._setupstate.teardown_exact(nextitem)
        return


def _refuse(words):
    raise pytest.fail.Exception(f"@pytest.mark.stochastic: {words}", pytrace=False) from None


def _settings(mark):
    """The `Runs` that a marker asks for."""
    from skbench.integrations._stochastic import Runs

    try:
        bound = signature(Runs).bind(*mark.args, **mark.kwargs)
        return Runs(*bound.args, **bound.kwargs)
    except (TypeError, ValueError) as error:
        _refuse(error)


def _renewal(item):
    """A function that makes an item as it was before its first run, with a fresh instance."""
    if not item._request:  # pytest has run it before
        item._initrequest()
    # A function that a plugin has put there stays, and its instance, to which it may be bound.
    home = item.parent.obj if item.instance is None else item.instance
    replaced = item.obj != getattr(home, item.originalname, None)
    kept = {name: vars(item)[name] for name in _OBJECT if replaced and name in vars(item)}
    if item.get_closest_marker("flaky"):  # pytest-retry would repeat each failed run
        item.add_marker(pytest.mark.flaky(condition=False), append=False)
    markers, properties = item.own_markers[:], item.user_properties[:]

    def renew():
        for name in _OBJECT:
            vars(item).pop(name, None)
        vars(item).update(kept)
        item.own_markers[:], item.user_properties[:] = markers, properties
        item._report_sections.clear()
        item._initrequest()
        _restart_limit(item)

    return renew


def _restart_limit(item):
    """Start the timer of pytest-timeout anew."""
    if _LIMIT in item.stash:
        item.config.hook.pytest_timeout_cancel_timer(item=item)
        item.config.hook.pytest_timeout_set_timer(item=item, settings=item.stash[_LIMIT])


def _phase(item, when, function):
    item.stash[_RUNNING] = True
    call = pytest.CallInfo.from_call(function, when=when, reraise=_ABORTS)
    item.stash[_RUNNING] = False
    return _Phase(call, item.ihook.pytest_runtest_makereport(item=item, call=call))


def _passed(phase):
    """Whether a run passed; None if it is no run, and ends the test."""
    report, raised = phase.report, phase.call.excinfo and phase.call.excinfo.value
    if isinstance(raised, pytest.fail.Exception) and _SUBTESTS in str(raised):
        return None
    if hasattr(report, "wasxfail"):  # by a marker, which is for the verdict, or by pytest.xfail
        return None if isinstance(raised, pytest.xfail.Exception) else raised is None
    if report.skipped:
        return None
    return report.passed or str(report.longrepr).startswith("[XPASS(strict)]")


def _tear_down(item, nextitem):
    hook = item.ihook.pytest_runtest_teardown
    return _phase(item, "teardown", lambda: hook(item=item, nextitem=nextitem))


def _describe(item, report, words, seconds):
    """Add the verdict to the report of the run that stands for all."""
    report.user_properties.append((_PROPERTY, words))
    item.user_properties[:] = report.user_properties  # of the tear-down, for the XML of JUnit
    setattr(report, _PROPERTY, words)  # for the summary; pytest-xdist keeps it
    report.duration = seconds
    place = getattr(report.longrepr, "reprcrash", None)
    if place is not None:
        report.sections.append(("stochastic test", words))
        place.message = f"{words}. Last failed run: {place.message}"


def _log(item, phase):
    """Report a phase, and open the debugger where pytest is asked to."""
    item.ihook.pytest_runtest_logreport(report=phase.report)
    if phase.report.failed and phase.call.excinfo is not None:
        item.ihook.pytest_exception_interact(node=item, call=phase.call, report=phase.report)
