"""A marker of pytest for stochastic tests: ``@pytest.mark.stochastic(runs=40, min_pass=0.8)``.

pytest loads this file in every session by the entry point ``pytest11`` in setup.cfg. It imports
pytest, and everything else when a marked test runs.
"""

import copy
from inspect import signature
from typing import NamedTuple

import pytest

_PROPERTY = "skbench_stochastic"
_ABORTS = (pytest.exit.Exception, KeyboardInterrupt)


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
    if mark is None or item.config.getoption("setuponly", False):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    try:
        _repeat(item, mark, nextitem)
    finally:
        item._request, item.funcargs = False, None  # as pytest does after a run
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_terminal_summary(terminalreporter):
    """Print the verdict and the interval of each marked test."""
    found = {
        report.nodeid: dict(report.user_properties)[_PROPERTY]
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call" and _PROPERTY in dict(report.user_properties)
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
    counted, last, seconds = [], {}, 0.0

    def set_up():
        item.ihook.pytest_runtest_setup(item=item)
        if not counted:
            counted.append(_settings(mark))

    while True:
        _renew(item)
        phases, stop = [_phase(item, "setup", set_up)], True
        if phases[0].report.passed:
            (runs,) = counted
            one = _phase(item, "call", lambda: item.ihook.pytest_runtest_call(item=item))
            seconds += one.report.duration
            raised = one.call.excinfo and one.call.excinfo.value
            if isinstance(raised, (pytest.skip.Exception, pytest.xfail.Exception)):
                phases.append(one)
            else:
                last[raised is None] = one
                stop = runs.add(raised is None)
                if stop:
                    # The other outcome is never alone: `Runs` refuses plans that it could have.
                    one = last[runs.passed]
                    _describe(item, one.report, str(runs), seconds)
                    phases.append(one)
        if not stop:
            torn = _tear_down(item, neighbor)
            if not torn.report.failed:
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


def _settings(mark):
    """The `Runs` that a marker asks for."""
    from skbench.integrations._stochastic import Runs

    try:
        bound = signature(Runs).bind(*mark.args, **mark.kwargs)
        return Runs(*bound.args, **bound.kwargs)
    except (TypeError, ValueError) as error:
        raise pytest.fail.Exception(f"@pytest.mark.stochastic: {error}", pytrace=False) from None


def _renew(item):
    """A fresh instance of the test's class, fresh fixtures, and none of the last run's output."""
    for name in ("_instance", "_obj"):
        item.__dict__.pop(name, None)
    item._report_sections.clear()
    if hasattr(item, "_initrequest"):
        item._initrequest()


def _phase(item, when, function):
    call = pytest.CallInfo.from_call(function, when=when, reraise=_ABORTS)
    return _Phase(call, item.ihook.pytest_runtest_makereport(item=item, call=call))


def _tear_down(item, nextitem):
    hook = item.ihook.pytest_runtest_teardown
    return _phase(item, "teardown", lambda: hook(item=item, nextitem=nextitem))


def _describe(item, report, words, seconds):
    """Add the verdict to the report of the run that stands for all."""
    item.user_properties.append((_PROPERTY, words))  # of the tear-down, for the XML of JUnit
    report.user_properties.append((_PROPERTY, words))
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
