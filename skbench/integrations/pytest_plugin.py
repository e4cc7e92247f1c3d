"""A pytest marker for stochastic tests: ``@pytest.mark.stochastic(runs=40, min_pass=0.8)``.

pytest loads this file in every session by the entry point ``pytest11`` in setup.cfg. Modules other
than pytest are imported when a marked test runs.
"""

# Private names of pytest that are used here, checked in 8.0 and 9.2: `_obj`, `_instance`,
# `_request`, `_initrequest` and `_report_sections` of an item, `_setupstate` of the session, and
# the text "[XPASS(strict)]".

import copy
from inspect import signature
from typing import NamedTuple

import pytest

_PROPERTY = "skbench_stochastic"
_ABORTS = (pytest.exit.Exception, KeyboardInterrupt)
_OBJECT = ("_instance", "_obj")
_RUNNING, _LIMIT = pytest.StashKey[bool](), pytest.StashKey[object]()
_SUBTESTS = (
    "pytest reports each subtest of each run as a separate test. "
    "Remove the subtests: assert in the test itself, or use pytest.mark.parametrize."
)


def pytest_configure(config):
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        "stochastic(runs, min_pass, confidence_level=0.95, undecided='fail'): run the test up to "
        "`runs` times, until an interval of its probability of passing is above or below "
        "`min_pass` (skbench).",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Run a marked test. pytest runs all others."""
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
    """Refuse the marker on anything but functions, and two different markers in one place."""
    marks = list(item.iter_markers_with_node("stochastic"))
    if marks and not isinstance(item, pytest.Function):
        _refuse(f"the marker is for test functions, but this is a {type(item).__name__}")
    if any(node is marks[0][0] and mark != marks[0][1] for node, mark in marks):
        _refuse("two markers in one place have different arguments. Remove one")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item):
    """Refuse a report during a run, which is that of a subtest."""
    if item.stash.get(_RUNNING, False):
        _refuse(_SUBTESTS)


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_timeout_set_timer(item, settings):
    """Store the limit that pytest-timeout sets for a whole test, to apply it to each run."""
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
        for name, text in found.items():
            terminalreporter.write_line(f"{name} {text}")


class _Phase(NamedTuple):
    """Set-up, call or tear-down of a run."""

    call: pytest.CallInfo
    report: pytest.TestReport


def _repeat(item, mark, nextitem):
    """Run a test until its runs decide. Report one set-up, one call and one tear-down."""
    # For pytest, a next test of the same class or module, so that shared fixtures stay.
    neighbor = copy.copy(item)
    counted, last, seconds, renew = [], {}, 0.0, _renewal(item)

    def set_up():
        item.ihook.pytest_runtest_setup(item=item)
        if not counted:
            counted.append(_settings(mark))
            _restart_limit(item)  # so that it does not include the imports

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
                    # `Runs` refuses plans in which no run with this outcome may have happened.
                    one = last[runs.passed]
                    _describe(item, one.report, str(runs), seconds)
                    phases.append(one)
        if not stop:
            tear_down = _tear_down(item, neighbor)
            if not tear_down.report.failed:
                renew()
                continue
            phases.append(tear_down)
        for phase in phases:
            _log(item, phase)
        if item.session.shouldfail or item.session.shouldstop:
            nextitem = None
        if stop:
            _log(item, _tear_down(item, nextitem))
        else:  # tear down shared fixtures only, because the test itself is torn down
            item.session._setupstate.teardown_exact(nextitem)
        return


def _refuse(text):
    raise pytest.fail.Exception(f"@pytest.mark.stochastic: {text}", pytrace=False) from None


def _settings(mark):
    """Return the `Runs` of a marker."""
    from skbench.integrations._stochastic import Runs

    try:
        bound = signature(Runs).bind(*mark.args, **mark.kwargs)
        return Runs(*bound.args, **bound.kwargs)
    except (TypeError, ValueError) as error:
        _refuse(error)


def _renewal(item):
    """Return a function that resets an item to its state before the first run."""
    if not item._request:  # pytest has run it before
        item._initrequest()
    # A function set by a plugin is kept with its instance, to which it may be bound.
    owner = item.parent.obj if item.instance is None else item.instance
    replaced = item.obj != getattr(owner, item.originalname, None)
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
    """Restart the timer of pytest-timeout."""
    if _LIMIT in item.stash:
        item.config.hook.pytest_timeout_cancel_timer(item=item)
        item.config.hook.pytest_timeout_set_timer(item=item, settings=item.stash[_LIMIT])


def _phase(item, when, function):
    item.stash[_RUNNING] = True
    call = pytest.CallInfo.from_call(function, when=when, reraise=_ABORTS)
    item.stash[_RUNNING] = False
    return _Phase(call, item.ihook.pytest_runtest_makereport(item=item, call=call))


def _passed(phase):
    """Return whether a run passed, or None if it does not count and ends the test."""
    report, raised = phase.report, phase.call.excinfo and phase.call.excinfo.value
    if isinstance(raised, pytest.fail.Exception) and _SUBTESTS in str(raised):
        return None
    if hasattr(report, "wasxfail"):  # by a marker, which applies to the verdict, or pytest.xfail
        return None if isinstance(raised, pytest.xfail.Exception) else raised is None
    if report.skipped:
        return None
    return report.passed or str(report.longrepr).startswith("[XPASS(strict)]")


def _tear_down(item, nextitem):
    hook = item.ihook.pytest_runtest_teardown
    return _phase(item, "teardown", lambda: hook(item=item, nextitem=nextitem))


def _describe(item, report, text, seconds):
    """Add the verdict to the report of the run that represents all runs."""
    report.user_properties.append((_PROPERTY, text))
    item.user_properties[:] = report.user_properties  # of the tear-down, for the JUnit XML
    setattr(report, _PROPERTY, text)  # for the summary; pytest-xdist keeps it
    report.duration = seconds
    place = getattr(report.longrepr, "reprcrash", None)
    if place is not None:
        report.sections.append(("stochastic test", text))
        place.message = f"{text}. Last failed run: {place.message}"


def _log(item, phase):
    """Report a phase, and open the debugger if requested."""
    item.ihook.pytest_runtest_logreport(report=phase.report)
    if phase.report.failed and phase.call.excinfo is not None:
        item.ihook.pytest_exception_interact(node=item, call=phase.call, report=phase.report)
