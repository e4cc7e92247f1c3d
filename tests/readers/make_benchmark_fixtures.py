"""Write the result files of benchmarks, by running the programs' own writers.

Each program is run from an environment of its own, on outcomes of our own, without a network::

    python make_benchmark_fixtures.py swe_bench   # pip install swebench
    python make_benchmark_fixtures.py mteb        # pip install mteb torch
    python make_benchmark_fixtures.py opencompass # pip install opencompass torch
    python make_benchmark_fixtures.py helm        # pip install crfm-helm
    python make_benchmark_fixtures.py mt_bench    # pip install --no-deps fschat

What each folder holds, and which versions wrote it, stands in fixtures/README.md.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from unittest.mock import MagicMock

from make_app_fixtures import MODELS, answered
from make_fixtures import QUESTIONS, folder_for, replies

# Outcomes of each instance of SWE-bench: resolved, unresolved, empty patch, error, not submitted.
INSTANCES = {
    "django__django-11001": {"ours/alpha-1.5": "r", "ours/beta": "r"},
    "django__django-11019": {"ours/alpha-1.5": "u", "ours/beta": "r"},
    "django__django-11039": {"ours/alpha-1.5": "r", "ours/beta": "e"},
    "sympy__sympy-12236": {"ours/alpha-1.5": "e", "ours/beta": "u"},
    "sympy__sympy-12419": {"ours/alpha-1.5": "x", "ours/beta": "r"},
    "sympy__sympy-12454": {"ours/alpha-1.5": "-", "ours/beta": "-"},
}

# Ratings of each question and turn of MT-Bench by model; None where the judge did not answer.
RATINGS = {
    (81, 1): (9, 7),
    (81, 2): (8.5, None),
    (82, 1): (9, 6),
    (82, 2): (7, 5),
    (111, 1): (4, 10),
    (111, 2): (1, 6),
    (112, 1): (10, 8),
    (112, 2): (6, 6),
}

# Rewards of each task of tau2-bench by model and trial, or why there is none.
SIMULATIONS = {
    "0": {"gpt-alpha": (1.0, 1.0), "gpt-beta": (1.0, 0.0)},
    "1": {"gpt-alpha": (0.0, "infrastructure_error"), "gpt-beta": (1.0, 1.0)},
    "2": {"gpt-alpha": (0.0, "max_steps"), "gpt-beta": ("context_window_exceeded", 0.0)},
}


def make_swe_bench():
    """Reports of two runs, from the logs that the harness leaves of each instance."""
    from swebench.harness.reporting import make_run_report

    folder = folder_for("swe_bench/two_models")
    for model in ("ours/alpha-1.5", "ours/beta"):
        predictions = {}
        with tempfile.TemporaryDirectory() as work:
            os.chdir(work)
            logs = Path("logs/run_evaluation/our-run", model.replace("/", "__"))
            for name, outcomes in INSTANCES.items():
                outcome = outcomes[model]
                if outcome == "-":
                    continue
                patch = "" if outcome == "e" else "diff --git a/x b/x"
                predictions[name] = {
                    "instance_id": name,
                    "model_name_or_path": model,
                    "model_patch": patch,
                }
                if outcome in "ru":
                    (logs / name).mkdir(parents=True)
                    report = {name: {"patch_exists": True, "resolved": outcome == "r"}}
                    (logs / name / "report.json").write_text(json.dumps(report))
            dataset = [{"instance_id": name} for name in INSTANCES]
            make_run_report(predictions, dataset, "our-run", report_dir=folder)


def make_mteb():
    """Results of two encoders of ours on MTEB's own small tasks, one of them in two languages."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HOME": tempfile.mkdtemp()}
    import mteb
    from mteb.cache import ResultCache
    from mteb.mocks.mock_tasks.classification import MockMultilingualClassificationTask
    from mteb.mocks.mock_tasks.sts import MockSTSTask
    from mteb.models.model_implementations.random_baseline import RandomEncoderBaseline
    from mteb.models.model_meta import ModelMeta, ScoringFunction

    folder = folder_for("mteb")
    baseline = mteb.get_model("mteb/baseline-random-encoder")
    for model, size in {"ours/alpha": 8, "ours/beta": 32}.items():
        about = {
            "name": model,
            "revision": f"rev{size}",
            "similarity_fn_name": ScoringFunction.COSINE,
        }
        encoder = RandomEncoderBaseline(baseline.mteb_model_meta.name, None, embed_dim=size)
        encoder.mteb_model_meta = ModelMeta.create_empty(overwrites=about)
        tasks = [MockMultilingualClassificationTask(), MockSTSTask()]
        mteb.evaluate(encoder, tasks, cache=ResultCache(folder), show_progress_bar=False)


def make_opencompass():
    """Evaluations with details: one answer to an item, two answers, and by perplexity."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HOME": tempfile.mkdtemp()}
    from datasets import Dataset
    from mmengine.config import ConfigDict
    from opencompass.datasets.base import BaseDataset
    from opencompass.openicl.icl_evaluator import AccEvaluator, AccwithDetailsEvaluator
    from opencompass.tasks.openicl_eval import OpenICLEvalTask

    class Ours(BaseDataset):
        @staticmethod
        def load(path):
            pairs = QUESTIONS[path].items()
            return Dataset.from_list(
                [{"question": asked, "answer": known} for asked, known in pairs]
            )

    def evaluated(model, name, topic, evaluator, predictions, n=1):
        path = folder / "predictions" / model / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({str(i): made for i, made in enumerate(predictions)}))
        dataset = {
            "abbr": name,
            "type": Ours,
            "path": topic,
            "n": n,
            "k": n,
            "reader_cfg": {"input_columns": ["question"], "output_column": "answer"},
            "infer_cfg": {},
            "eval_cfg": {"evaluator": {"type": evaluator}},
        }
        OpenICLEvalTask(
            ConfigDict(
                models=[{"abbr": model, "type": "Ours", "path": model}],
                datasets=[[dataset]],
                work_dir=str(folder),
                eval={"runner": {"task": {"dump_details": True}}},
            )
        ).run()

    folder = folder_for("opencompass")
    for model in MODELS:
        for topic in QUESTIONS:
            made = [
                {"origin_prompt": question, "prediction": reply, "gold": target}
                for name, _, question, target, reply in answered(model)
                if name == topic
            ]
            again = [answer | {"prediction": answer["gold"]} for answer in made]
            twice = topic == "sums"
            made += again if twice else []
            evaluated(model, topic, topic, AccwithDetailsEvaluator, made, 1 + twice)
        likely = [
            {f"label: {reply}": {"testing input": question, "PPL": 1.5}, "prediction": reply}
            for topic, _, question, _, reply in answered(model)
            if topic == "sums"
        ]
        evaluated(model, "sums_ppl", "sums", AccEvaluator, likely)
    shutil.rmtree(folder / "predictions")


def make_mt_bench():
    """Judgments of FastChat's judge, single and in pairs, by a judge that we answer for."""
    adapter = ModuleType("fastchat.model.model_adapter")
    adapter.OPENAI_MODEL_LIST, adapter.ANTHROPIC_MODEL_LIST = ("gpt-4",), ()
    adapter.get_conversation_template = lambda model: MagicMock(roles=("user", "assistant"))
    stubs = ("openai", "anthropic", "fastchat.model")
    sys.modules |= {name: MagicMock() for name in stubs} | {adapter.__name__: adapter}
    from fastchat.llm_judge import common
    from fastchat.llm_judge.gen_judgment import make_judge_pairwise, make_judge_single

    single_file = folder_for("mt_bench/single") / "gpt-4_single.jsonl"
    pair_file = folder_for("mt_bench_pairs") / "gpt-4_pair.jsonl"
    kinds = ("single", "single-math", "pair", "pair-math")
    prompts = {}
    for kind in kinds:
        version = "v2" if kind == "pair" else "v1"
        for turns in ("", "-multi-turn"):
            name = f"{kind}-{version}{turns}"
            prompts[name] = {
                "name": name,
                "type": "single" if "single" in kind else "pairwise",
                "prompt_template": "{question_2}" if turns else "{question}",
                "system_prompt": "",
                "output_format": "[[rating]]" if "single" in kind else "[[A]]",
            }
    single = make_judge_single("gpt-4", prompts)
    pairwise = make_judge_pairwise("gpt-4", prompts)
    for (question_id, turn), ratings in RATINGS.items():
        math = 111 <= question_id <= 120
        kind = ("math" if math else "default") + "-mt" * (turn == 2)
        question = {"question_id": question_id, "turns": ["First?", "Then?"]}
        answer = {"choices": [{"turns": ["one", "two"]}]}
        shared = {"ref_answer": answer if math else None, "multi_turn": turn == 2}
        for model, rating in zip(MODELS, ratings, strict=True):
            reply = "$ERROR$" if rating is None else f"Good. Rating: [[{rating}]]"
            common.chat_completion_openai = lambda *args, reply=reply, **kwargs: reply
            match = common.MatchSingle(question, model, answer, single[kind], **shared)
            common.play_a_match_single(match, str(single_file))
        common.chat_completion_openai = lambda *args, **kwargs: "[[A]]"
        match = common.MatchPair(question, *MODELS, answer, answer, pairwise[kind], **shared)
        common.play_a_match_pair(match, str(pair_file))


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
    answers_of = {
        model: {
            question: reply
            for task in QUESTIONS
            for question, reply in zip(QUESTIONS[task], replies(model, task), strict=False)
        }
        for model in ("alpha", "beta")
    }
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        (work / "our_helm.py").write_text(HELM_PLUGIN % (QUESTIONS, answers_of))
        (work / "prod_env").mkdir()
        deployment = {"tokenizer_name": "simple/tokenizer1", "max_sequence_length": 2048}
        deployment["client_spec"] = {"class_name": "our_helm.OurClient"}
        about = {"access": "open", "creator_organization_name": "ours"}
        about["tags"] = ["TEXT_MODEL_TAG", "FULL_FUNCTIONALITY_TEXT_MODEL_TAG"]
        deployments, metadata = [], []
        for name in answers_of:
            named = {"name": f"ours/{name}"}
            deployments.append(named | {"model_name": f"ours/{name}"} | deployment)
            metadata.append(named | {"display_name": name, "description": name} | about)
        # A YAML file may hold JSON.
        for kind, models in (("deployments", deployments), ("metadata", metadata)):
            key = {"deployments": "model_deployments", "metadata": "models"}[kind]
            (work / "prod_env" / f"model_{kind}.yaml").write_text(json.dumps({key: models}))
        entries = [
            f"ours:task={task},model=ours/{name}" for task in QUESTIONS for name in answers_of
        ]
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


if __name__ == "__main__":
    for name in sys.argv[1:]:
        globals()[f"make_{name}"]()
