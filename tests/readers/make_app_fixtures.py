"""Write the result files of applications' test tools, by running the tools themselves.

Each tool is run from an environment of its own, on the questions of `make_fixtures`, without a
network::

    python make_app_fixtures.py deepeval       # pip install deepeval
    python make_app_fixtures.py deepeval_2     # pip install deepeval==2.5.5 "langchain<0.4"
    python make_app_fixtures.py openai_evals   # pip install evals (or without its dependencies, and
        # with openai blobfile requests lz4 pyzstd pyyaml tqdm snowflake-connector-python tiktoken)
    python make_app_fixtures.py mlflow   # pip install mlflow; and again with mlflow==2.9.2
    python make_app_fixtures.py promptfoo_runs   # npm install promptfoo

What each folder holds, and which versions wrote it, stands in fixtures/README.md.
"""

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from make_fixtures import QUESTIONS, folder_for, forget, replies, run_promptfoo

MODELS = ("alpha", "beta")
BROKEN, BROKEN_ANSWER = "Peru", "Lima"  # The judge, or the model, breaks on this question.


def answered(model):
    """(topic, number, question, target, reply) of all questions, in order."""
    for topic, questions in QUESTIONS.items():
        pairs = zip(questions.items(), replies(model, topic), strict=False)
        for number, ((question, target), reply) in enumerate(pairs, start=1):
            yield topic, number, question, target, reply


class Metric:
    """What our metrics of DeepEval share: each breaks once."""

    threshold, async_mode = 0.5, False

    def measure(self, case, *args, **kwargs):
        if BROKEN in str(case):
            raise RuntimeError("the judge broke")
        self.score = self.of(case)
        self.success = self.score >= self.threshold
        return self.score

    async def a_measure(self, case, *args, **kwargs):
        return self.measure(case)

    def is_successful(self):
        return self.success


def metric(base, name, of):
    """A metric of DeepEval of this name and base class: what it is `of` a test case."""
    return type(name, (Metric, base), {"__name__": name, "of": staticmethod(of)})()


def is_right(case):
    return float(case.actual_output == case.expected_output)


def make_deepeval():
    """Test runs of DeepEval: two metrics, conversations, runs without hyperparameters."""
    os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"
    from deepeval import evaluate
    from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig, ErrorConfig
    from deepeval.metrics import BaseConversationalMetric, BaseMetric
    from deepeval.test_case import ConversationalTestCase, LLMTestCase, Turn

    right = metric(BaseMetric, "Right Answer", is_right)
    brief = metric(BaseMetric, "Brief", lambda case: 1 / len(case.actual_output))
    polite = metric(
        BaseConversationalMetric,
        "Polite",
        lambda case: float("Atlantis" not in case.turns[-1].content),
    )

    def single(topic, number, question, target, reply):
        return LLMTestCase(
            name=f"{topic}-{number}",
            input=question,
            actual_output=reply,
            expected_output=target,
            metadata={"topic": topic},
        )

    def turns(topic, number, question, target, reply):
        turns = [Turn(role="user", content=question), Turn(role="assistant", content=reply)]
        return ConversationalTestCase(name=f"{topic}-{number}", turns=turns)

    folder = folder_for("deepeval")

    def run(name, cases, metrics, hyperparameters):
        os.environ["DEEPEVAL_RESULTS_FOLDER"] = str(folder / name)
        evaluate(
            cases,
            metrics,
            hyperparameters=hyperparameters,
            async_config=AsyncConfig(run_async=False),
            cache_config=CacheConfig(write_cache=False),
            display_config=DisplayConfig(show_indicator=False, print_results=False),
            error_config=ErrorConfig(ignore_errors=True),
        )
        time.sleep(1.1)  # A file is called by the second.

    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        for model in MODELS:
            named = {"model": model, "temperature": 0.5}
            cases = [single(*answer) for answer in answered(model)]
            run("two_models", cases, [right, brief], named)
            for case in cases:
                case.name = None
            run("unnamed", cases[:2], [right], None)
            run("conversations", [turns(*answer) for answer in answered(model)], [polite], named)
    for lock in folder.rglob(".*"):
        lock.unlink()


def make_deepeval_2():
    """Test runs as version 2 wrote them: in files without a suffix."""
    os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
    from deepeval import evaluate
    from deepeval.metrics import BaseMetric
    from deepeval.test_case import LLMTestCase

    right = metric(BaseMetric, "Right Answer", is_right)
    folder = folder_for("deepeval_2/two_models")
    os.environ["DEEPEVAL_RESULTS_FOLDER"] = str(folder)
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        for model in MODELS:
            cases = [
                LLMTestCase(question, reply, target, additional_metadata={"topic": topic})
                for topic, _, question, target, reply in answered(model)
            ]
            named = {"model": model, "prompt template": "{question}"}
            options = {"run_async": False, "show_indicator": False, "print_results": False}
            evaluate(cases, [right], named, ignore_errors=True, **options)
            time.sleep(1.1)  # A file is called by the second.


class Replies:
    """A completion function of OpenAI evals: what a model replies to our questions."""

    def __init__(self, model, registry):
        self.crashes = model not in MODELS
        known = answered("alpha" if self.crashes else model)
        self.known = {question: reply for _, _, question, _, reply in known}

    def __call__(self, prompt, **kwargs):
        from evals.record import record_sampling

        if self.crashes and BROKEN in prompt:
            raise RuntimeError("the model broke")
        self.reply = self.known[prompt]
        record_sampling(prompt=prompt, sampled=[self.reply])
        return self

    def get_completions(self):
        return [self.reply]


def make_openai_evals():
    """Logs of OpenAI evals: two evaluations, completion functions of our own, one that crashes."""
    os.environ["OPENAI_API_KEY"] = "none"
    os.environ["EVALS_SEQUENTIAL"] = "1"
    from evals.cli.oaieval import get_parser, run
    from evals.registry import Registry

    folder = folder_for("openai_evals")
    kinds = {"capitals": "match:Match", "sums": "fuzzy_match:FuzzyMatch"}
    with tempfile.TemporaryDirectory() as temporary:
        os.chdir(temporary)
        for name in ("evals", "completion_fns", "data"):
            Path("registry", name).mkdir(parents=True)
        for topic, questions in QUESTIONS.items():
            samples = [{"input": question, "ideal": known} for question, known in questions.items()]
            data = Path("registry/data", f"{topic}.jsonl")
            data.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
            spec = {"class": f"evals.elsuite.basic.{kinds[topic]}"}
            spec["args"] = {"samples_jsonl": str(data.absolute())}
            specs = {topic: {"id": f"{topic}.dev.v0", "metrics": ["accuracy"]}}
            specs[f"{topic}.dev.v0"] = spec
            Path("registry/evals", f"{topic}.yaml").write_text(json.dumps(specs))
        called = {
            model: {"class": "make_app_fixtures:Replies", "args": {"model": model}}
            for model in (*MODELS, "crashing")
        }
        Path("registry/completion_fns/ours.yaml").write_text(json.dumps(called))
        registry = Registry([Path("registry").absolute()])
        for model in called:
            for topic in QUESTIONS:
                place = folder / ("crashed" if model == "crashing" else "two_models")
                place.mkdir(exist_ok=True)
                path = f"--record_path={place}/{model}_{topic}.jsonl"
                arguments = get_parser().parse_args([model, topic, path, "--user=us"])
                try:
                    run(arguments, registry)
                except RuntimeError as error:
                    print(error)
        forget(folder, temporary)


def mlflow_store():
    """A new folder where MLflow keeps its runs in files."""
    work = Path(tempfile.mkdtemp())
    os.environ["MLFLOW_TRACKING_URI"] = f"file://{work}/mlruns"
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    return work


def make_mlflow():
    """Evaluation tables of MLflow, a run per model, as its store of files holds them."""
    import pandas as pd

    work = mlflow_store()
    import mlflow
    from mlflow.metrics import MetricValue, make_metric

    folder = folder_for(f"mlflow/version_{mlflow.__version__.split('.')[0]}")

    def compare(predictions, targets, metrics):
        pairs = zip(predictions, targets, strict=True)
        scores = [
            None if known == BROKEN_ANSWER else float(reply == known) for reply, known in pairs
        ]
        right = [score for score in scores if score is not None]
        reasons = ["compared"] * len(scores)
        return MetricValue(scores, reasons, {"mean": sum(right) / len(right)})

    def count(predictions, targets, metrics):
        return MetricValue([len(reply) for reply in predictions], aggregate_results={})

    metrics = [
        make_metric(eval_fn=compare, greater_is_better=True, name="right_answer", version="v1"),
        make_metric(eval_fn=count, greater_is_better=False, name="letters"),
    ]
    names = ["topic", "number", "inputs", "ground_truth", "outputs"]
    for model in MODELS:
        data = pd.DataFrame(list(answered(model)), columns=names)
        with mlflow.start_run(run_name=model):
            mlflow.models.evaluate(
                data=data, targets="ground_truth", predictions="outputs", extra_metrics=metrics
            )
    for table in work.rglob("eval_results_table.json"):
        run = table.parent.parent
        place = folder / run.relative_to(work)
        shutil.copytree(table.parent, place / "artifacts")
        shutil.copy(run / "meta.yaml", place)
    forget(folder, work)


def make_mlflow_genai():
    """What users save of mlflow.genai.evaluate, which writes no file of results itself."""
    work = mlflow_store()
    import mlflow
    from mlflow.genai import scorer

    @scorer
    def right_answer(outputs, expectations):
        if expectations["expected_response"] == BROKEN_ANSWER:
            raise RuntimeError("the judge broke")
        return outputs == expectations["expected_response"]

    @scorer
    def letters(outputs):
        return len(outputs)

    folder = folder_for("mlflow_genai")
    for model in MODELS:
        data = [
            {
                "inputs": {"question": question},
                "outputs": reply,
                "expectations": {"expected_response": target},
            }
            for topic, number, question, target, reply in answered(model)
            if topic == "capitals" and number in (1, 2, 6)
        ]
        with mlflow.start_run(run_name=model):
            result = mlflow.genai.evaluate(data=data, scorers=[right_answer, letters])
        result.result_df.to_csv(folder / f"{model}.csv", index=False)
    forget(folder, work)


def make_promptfoo_runs():
    """A run of promptfoo per model, on the same tests: a provider of ours that breaks once."""
    folder = folder_for("promptfoo_runs/two_models")
    for model in MODELS:
        asked = [answer[2:] for answer in answered(model) if answer[0] == "capitals"]
        known = {question: reply for question, _, reply in asked}
        provider = f"""
        const known = {json.dumps(known)};
        module.exports = class {{
          id() {{ return "{model}"; }}
          async callApi(prompt) {{
            if (prompt.includes("{BROKEN}")) throw new Error("no answer");
            return {{ output: known[prompt], tokenUsage: {{ total: 14, prompt: 12, completion: 2 }} }};
          }}
        }};
        """
        tests = [
            {"vars": {"question": question}, "assert": [{"type": "equals", "value": target}]}
            for question, target, _ in asked
        ]
        config = {"description": "our capitals", "prompts": ["{{question}}"], "tests": tests}
        config["providers"] = ["file://provider.js"]
        with tempfile.TemporaryDirectory() as work:
            Path(work, "provider.js").write_text(provider)
            run_promptfoo(work, config, folder, [f"{model}.json"])
            forget(folder, work)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        globals()[f"make_{name}"]()
