"""Write the reports of test runners, JUnit XML and pytest's JSON, by running the same tests::

    python make_test_fixtures.py   # pip install pytest pytest-json-report unittest-xml-reporting

Their versions stand in fixtures/README.md.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from make_app_fixtures import BROKEN_ANSWER, MODELS, answered
from make_fixtures import FIXTURES, QUESTIONS, folder_for, forget

# Tests of a model's replies; the file is run by pytest and by unittest.
TESTS = """
import os
import unittest
import pytest

ANSWERS = {answers}
MODEL = os.environ["MODEL"]

@pytest.fixture
def asked(topic, number):
    target, reply = ANSWERS[MODEL][topic][number]
    if target == "{broken}":
        raise RuntimeError("the model broke")
    yield target, reply
    if topic == "sums" and number == 0:
        raise RuntimeError("the model does not stop")

@pytest.mark.parametrize("topic, number", {places})
def test_reply(asked):
    assert asked[0] == asked[1]

@pytest.mark.skip
def test_skipped():
    assert False

@pytest.mark.xfail
def test_known_to_fail():
    assert MODEL == "beta"

class TestCapitals(unittest.TestCase):
    @unittest.skip("not today")
    def test_skipped(self):
        self.fail()

class TestSums(unittest.TestCase):
    pass

def method(topic, number):
    def test(self):
        target, reply = ANSWERS[MODEL][topic][number]
        if target == "{broken}":
            raise RuntimeError("the model broke")
        self.assertEqual(target, reply)
    return test

for topic, number in {places}:
    case = TestCapitals if topic == "capitals" else TestSums
    setattr(case, f"test_{{number}}", method(topic, number))
del case
"""


def make_tests():
    """JUnit XML of pytest and of unittest, and pytest's JSON: of the same tests."""
    answers = {
        model: {
            topic: [
                (target, reply) for name, _, _, target, reply in answered(model) if name == topic
            ]
            for topic in QUESTIONS
        }
        for model in MODELS
    }
    places = [(topic, number) for topic, known in QUESTIONS.items() for number in range(len(known))]
    text = TESTS.format(answers=answers, places=places, broken=BROKEN_ANSWER)
    junit, report = FIXTURES / "junit", folder_for("pytest_json/two_models")
    with tempfile.TemporaryDirectory() as work:
        (Path(work) / "test_replies.py").write_text(text)
        folder_for("junit/pytest")
        folder_for("junit/unittest")
        for model in MODELS:
            environment = os.environ | {"MODEL": model}
            pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line"]
            pytest += ["-k", "not TestCapitals and not TestSums", f"--rootdir={work}"]
            pytest += [f"--junitxml={junit}/pytest/{model}.xml"]
            pytest += ["--json-report", f"--json-report-file={report}/{model}.json"]
            unittest = [sys.executable, "-m", "xmlrunner", "-o", f"{junit}/unittest/{model}"]
            for command in (
                pytest,
                [*unittest, "test_replies.TestCapitals", "test_replies.TestSums"],
            ):
                subprocess.run(command, cwd=work, env=environment)
        forget(junit, work)
        forget(report, work)


if __name__ == "__main__":
    make_tests()
