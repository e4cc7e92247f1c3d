"""Runs of tests: JUnit XML and pytest-json-report; a test is an item, passed or failed."""

from xml.etree import ElementTree

from skbench.readers._answers import Answer, Format, Run, records_in
from skbench.readers._json import open_bytes
from skbench.readers.loading import without_suffixes

_LARGEST = 2**28  # bytes of an XML file
_OUTCOMES = {"passed": 1.0, "xpassed": 1.0, "failed": 0.0, "xfailed": 0.0}


def _cases(path, bad, notes):
    """Test cases; entities are refused, which no runner of tests writes."""
    with open_bytes(path) as file:
        text = file.read(_LARGEST + 1)
    if len(text) > _LARGEST or b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise ValueError(f"{str(path)!r} declares a document type, or is too large: refused.")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ValueError(f"{str(path)!r} is no XML, or is cut off: {error}.") from None
    suites = [root] if root.tag == "testsuite" else root.iter("testsuite")
    for suite in suites:
        for number, case in enumerate(suite.findall("testcase"), start=1):
            record = {key: str(value) for key, value in case.attrib.items()}
            tags = {child.tag for child in case}
            record["outcome"] = next(
                (tag for tag in ("error", "skipped", "failure") if tag in tags), "passed"
            )
            yield f"testcase {number}", record, suite.attrib


def _junit(case, suite, path):
    outcome = {"passed": 1.0, "failure": 0.0}.get(case["outcome"])
    place = case.get("classname") or suite.get("name") or "tests"
    scores = {} if outcome is None else {"passed": outcome}
    return Answer(Run(without_suffixes(path), place), case["name"], scores)


def _pytest(test, report, path):
    """A test (pytest-json-report); an error outside the test, or a skipped one, is no answer."""
    outcome = _OUTCOMES.get(test["outcome"])
    topic = test["nodeid"].split("::")[0]
    scores = {} if outcome is None else {"passed": outcome}
    return Answer(Run(without_suffixes(path), topic), test["nodeid"], scores)


JUNIT = Format("JUnit XML", (), _cases, _junit, "testcase")
PYTEST = Format(
    "pytest-json-report",
    ({"exitcode", "root", "environment"},),
    records_in("tests"),
    _pytest,
    "nodeid",
)
