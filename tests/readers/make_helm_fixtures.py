"""Runs of HELM, see make_fixtures."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from make_fixtures import QUESTIONS, folder_for, replies

# The scenario, its models and its run, as HELM wants them: in a module of their own.
HELM_PLUGIN = """
from helm.benchmark.adaptation.common_adapter_specs import get_generation_adapter_spec
from helm.benchmark.metrics.common_metric_specs import get_exact_match_metric_specs, get_f1_metric_specs
from helm.benchmark.run_spec import RunSpec, run_spec_function
from helm.benchmark.scenarios.scenario import (
    CORRECT_TAG, TEST_SPLIT, TRAIN_SPLIT, Input, Instance, Output, Reference, Scenario, ScenarioSpec,
)
from helm.clients.simple_client import SimpleClient

QUESTIONS = %r
REPLIES = %r


class OurScenario(Scenario):
    name = "ours"
    description = "Our questions."
    tags = []

    def __init__(self, task):
        super().__init__()
        self.task = task

    def get_instances(self, output_path):
        pairs = [*QUESTIONS[self.task].items()]
        more = [("What is 5 + 5?", "10"), ("What is 5 + 6?", "11")]
        return [
            Instance(Input(text=question), [Reference(Output(text=answer), tags=[CORRECT_TAG])],
                     split=TEST_SPLIT if i < len(pairs) else TRAIN_SPLIT)
            for i, (question, answer) in enumerate(pairs + more)
        ]


class OurClient(SimpleClient):
    def invoke_model(self, raw_request):
        question = raw_request["prompt"].split("Question:")[-1].split("Answer:")[0].strip()
        return {"completions": [REPLIES[raw_request["engine"]].get(question, "Atlantis")]}


@run_spec_function("ours")
def ours(task):
    return RunSpec(
        name=f"ours:task={task}",
        scenario_spec=ScenarioSpec(class_name="our_helm.OurScenario", args={"task": task}),
        adapter_spec=get_generation_adapter_spec(input_noun="Question", output_noun="Answer",
                                                 max_train_instances=1),
        metric_specs=get_exact_match_metric_specs() + get_f1_metric_specs(),
        groups=["ours"],
    )
"""


def make_helm():
    """Run folders of HELM: two clients of our own, two tasks, two train trials."""
    folder = folder_for("helm")
    said = {
        model: {
            question: reply
            for task in QUESTIONS
            for question, reply in zip(QUESTIONS[task], replies(model, task), strict=False)
        }
        for model in ("alpha", "beta")
    }
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        (work / "our_helm.py").write_text(HELM_PLUGIN % (QUESTIONS, said))
        (work / "prod_env").mkdir()
        deployment = {"tokenizer_name": "simple/tokenizer1", "max_sequence_length": 2048}
        deployment["client_spec"] = {"class_name": "our_helm.OurClient"}
        about = {"access": "open", "creator_organization_name": "ours"}
        about["tags"] = ["TEXT_MODEL_TAG", "FULL_FUNCTIONALITY_TEXT_MODEL_TAG"]
        deployments, metadata = [], []
        for name in said:
            named = {"name": f"ours/{name}"}
            deployments.append(named | {"model_name": f"ours/{name}"} | deployment)
            metadata.append(named | {"display_name": name, "description": name} | about)
        # A YAML file may hold JSON.
        for kind, models in (("deployments", deployments), ("metadata", metadata)):
            key = {"deployments": "model_deployments", "metadata": "models"}[kind]
            (work / "prod_env" / f"model_{kind}.yaml").write_text(json.dumps({key: models}))
        entries = [f"ours:task={task},model=ours/{name}" for task in QUESTIONS for name in said]
        start = "import sys, our_helm; from helm.benchmark.run import main; main()"
        options = "--suite ours --max-eval-instances 10 --num-train-trials 2 -n 1 --disable-cache"
        command = [sys.executable, "-c", start, "--run-entries", *entries, *options.split()]
        subprocess.run(command, cwd=work, env=os.environ | {"PYTHONPATH": "."}, check=True)
        for run in sorted((work / "benchmark_output" / "runs" / "ours").iterdir()):
            # HELM's own names hold a colon, which not every file system allows.
            kept = folder / run.name.replace(":", "_")
            for name in ("per_instance_stats.json", "run_spec.json"):
                if (run / name).exists():
                    kept.mkdir(exist_ok=True)
                    shutil.copy(run / name, kept / name)
