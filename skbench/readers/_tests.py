"""Read test reports: JUnit XML and pytest-json-report. A test is an item."""

from xml.etree import ElementTree

from skbench.readers._answers import Format, answer_of, records_in
from skbench.readers._json import open_text
from skbench.readers.loading import without_suffixes

_LARGEST = 2**28  # bytes of an XML file
_OUTCOMES = {"passed": 1.0, "xpassed": 1.0, "failed": 0.0, "xfailed": 0.0}


def _cases(path, bad, notes):
    """Yield test cases. Refuse XML entities, which test runners do not write."""
    try:
        with open_text(path, _LARGEST) as file:
            text = file.read(_LARGEST + 1)
    except OSError as error:
        raise ValueError(f"Cannot read {str(path)!r}: {error}.") from error
    if len(text) > _LARGEST or b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise ValueError(f"{str(path)!r} declares a document type or is too large.")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ValueError(f"{str(path)!r} is not XML or is truncated: {error}.") from None
    for suite in [root] if root.tag == "testsuite" else root.iter("testsuite"):
        found = {}  # a test that fails and then has an error occurs twice
        for case in suite.findall("testcase"):
            place = case.get("classname") or suite.get("name") or "tests"
            found.setdefault((place, case.get("name")), []).append(_outcome(case))
        for number, (names, outcomes) in enumerate(found.items(), start=1):
            yield f"testcase {number}", (*names, outcomes), suite.attrib


def _outcome(case):
    """Return the outcome of a test: "passed", "failed", or "error" or "skipped" (no answer)."""
    tags = {child.tag: child for child in case}
    if "error" in tags or case.get("status") == "notrun":
        return "error"
    if "skipped" in tags:
        return "failed" if tags["skipped"].get("type") == "pytest.xfail" else "skipped"
    return "failed" if "failure" in tags else "passed"


def _junit(case, suite, path):
    """Convert a test. If each class of tests has a file, their folder is the run."""
    place, name, outcomes = case
    model = path.parent.name if path.name.startswith("TEST-") else without_suffixes(path)
    known = set(outcomes) <= {"passed", "failed"}
    scores = {"passed": float("failed" not in outcomes)} if known else {}
    return answer_of(model, place, name, scores, name=path.parent.as_posix())


def _pytest(test, report, path):
    """Convert a test of pytest-json-report. An error outside the test and a skip are no answer."""
    outcome, topic = _OUTCOMES.get(test["outcome"]), test["nodeid"].split("::")[0]
    scores = {} if outcome is None else {"passed": outcome}
    return answer_of(without_suffixes(path), topic, test["nodeid"], scores)


JUNIT = Format("junit", "JUnit XML", (), _cases, _junit, "testcase")
_PYTEST_SIGNS = ({"exitcode", "root", "tests"},)
PYTEST = Format(
    "pytest-json", "pytest-json-report", _PYTEST_SIGNS, records_in("tests"), _pytest, "nodeid"
)
