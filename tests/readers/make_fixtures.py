"""Write the logs that the reader tests read, by running the tools themselves.

Each tool is run from an environment of its own, on items of our own, without a
network::

    python make_fixtures.py inspect      # pip install inspect-ai
    python make_fixtures.py lm_eval      # pip install "lm-eval[hf]" torch
    python make_fixtures.py every_eval_ever   # pip install every-eval-ever; after the two above
    python make_fixtures.py euroeval     # pip install euroeval
    python make_fixtures.py promptfoo    # npm install promptfoo

What each folder holds, and which versions wrote it, stands in fixtures/README.md.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).absolute().parent
FIXTURES = HERE / "fixtures"
CAPITALS = {
    "France": "Paris",
    "Italy": "Rome",
    "Spain": "Madrid",
    "Greece": "Athens",
    "Norway": "Oslo",
    "Peru": "Lima",
}
SUMS = {"1 + 2": "3", "2 + 5": "7", "4 + 4": "8", "6 + 3": "9"}
QUESTIONS = {
    "capitals": {f"What is the capital of {land}?": city for land, city in CAPITALS.items()},
    "sums": {f"How much is {terms}?": total for terms, total in SUMS.items()},
}
# One letter per question and epoch: right, wrong.
ANSWERS = {
    ("alpha", "capitals"): "rrwrrw",
    ("beta", "capitals"): "rwwrwr" + "rwwrrr" + "rrwrwr",
    ("alpha", "sums"): "wwww",
    ("beta", "sums"): "rrwr",
}


def replies(model, task):
    """What a model says, question after question and epoch after epoch."""
    targets = list(QUESTIONS[task].values())
    letters = ANSWERS[model, task]
    return [
        targets[i % len(targets)] if letter == "r" else "Atlantis"
        for i, letter in enumerate(letters)
    ]


def folder_for(tool):
    """The empty folder of a tool's logs."""
    folder = FIXTURES / tool
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def forget(folder, place):
    """Take the places of this machine out of all files."""
    for path in folder.rglob("*.*"):
        if path.is_file():
            text = path.read_text().replace(str(place), "work").replace(str(HERE), "readers")
            text = re.sub(r"/[^\s\"()\\]*/(site-packages|node_modules)", r"\1", text)
            path.write_text(text)


def run_promptfoo(work, config, folder, outputs, *options):
    """Run promptfoo, which exits with 100 where a test fails, in a folder with its provider."""
    Path(work, "promptfooconfig.json").write_text(json.dumps(config))
    names = ("TELEMETRY", "UPDATE", "REMOTE_GENERATION")
    environment = os.environ | {f"PROMPTFOO_DISABLE_{name}": "1" for name in names}
    environment["PROMPTFOO_CONFIG_DIR"] = f"{work}/config"
    command = [os.environ.get("PROMPTFOO", "promptfoo"), "eval", "--no-cache", "--no-table"]
    command += ["-c", "promptfooconfig.json", *options]
    command += [part for output in outputs for part in ("-o", output)]
    subprocess.run(command, cwd=work, env=environment)
    folder.mkdir(exist_ok=True)
    for output in outputs:
        shutil.copy(Path(work, output), folder)


def make_inspect():
    """Logs of Inspect AI: its mock model, several scorers, epochs, a crash."""
    from inspect_ai import Task, eval, task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import Score, accuracy, match, mean, scorer
    from inspect_ai.solver import Generate, TaskState, generate, solver

    folder = folder_for("inspect")

    def mock(model, name, custom=None):
        outputs = []
        for reply in custom or replies(model, name):
            output = ModelOutput.from_content(f"mockllm/{model}", reply)
            output.usage = ModelUsage(input_tokens=12, output_tokens=2, total_tokens=14)
            outputs.append(output)
        return get_model(f"mockllm/{model}", custom_outputs=outputs)

    def dataset(name):
        samples = [
            Sample(input=question, target=target, id=f"{name}-{i}", metadata={"page": f"p{i // 2}"})
            for i, (question, target) in enumerate(QUESTIONS[name].items(), start=1)
        ]
        return MemoryDataset(samples, name=name)

    @scorer(metrics=[accuracy()])
    def graded():
        """C, I, P and N by the words of the answer."""

        async def score(state: TaskState, target):
            return Score(
                value={"yes": "C", "no": "I", "half": "P"}.get(state.output.completion, "N")
            )

        return score

    @scorer(metrics={"length": [mean()], "fluent": [mean()]})
    def style():
        """Two numbers per answer."""

        async def score(state: TaskState, target):
            words = state.output.completion
            return Score(value={"length": len(words), "fluent": float(words.istitle())})

        return score

    @scorer(metrics=[mean()])
    def sometimes():
        """No score for the second answer."""

        async def score(state: TaskState, target):
            second = str(state.sample_id).endswith("2")
            return Score(value=float("nan") if second else 0.25)

        return score

    @solver
    def failing():
        async def solve(state: TaskState, generate: Generate):
            if str(state.sample_id).endswith("3"):
                raise RuntimeError("the tool broke")
            return await generate(state)

        return solve

    @solver
    def dying():
        async def solve(state: TaskState, generate: Generate):
            if str(state.sample_id).endswith("4"):
                os._exit(7)
            return await generate(state)

        return solve

    def run(log_dir, name, replied, solve=None, score=None, **options):
        @task(name=name)
        def ours():
            solver, scorer = solve or generate(), score or match()
            return Task(dataset=dataset(name), solver=solver, scorer=scorer)

        options |= {"display": "none", "max_samples": 1, "max_connections": 1}
        eval(ours(), model=replied, log_dir=str(folder / log_dir), **options)

    run("two_models", "capitals", mock("alpha", "capitals"))
    run("two_models", "capitals", mock("beta", "capitals", replies("beta", "capitals")[:6]))
    run("two_models", "sums", mock("alpha", "sums"))
    run("two_models", "sums", mock("beta", "sums"))
    run("epochs", "capitals", mock("beta", "capitals"), epochs=3)
    run("epochs_json", "capitals", mock("beta", "capitals"), epochs=3, log_format="json")
    grades = ["yes", "no", "half", "who knows", "yes", "half"]
    run("scorers", "capitals", mock("gamma", "capitals", grades), score=[graded(), style()])
    broken = {"solve": failing(), "score": sometimes(), "fail_on_error": False}
    run("holes", "capitals", mock("alpha", "capitals"), **broken)
    if os.fork() == 0:
        run("interrupted", "capitals", mock("alpha", "capitals"), solve=dying(), log_buffer=1)
        os._exit(0)
    os.wait()


def make_promptfoo():
    """Output files of promptfoo: a provider of our own and its echo, two prompts, two repeats."""
    folder = folder_for("promptfoo")
    known = {question: answer for task in QUESTIONS.values() for question, answer in task.items()}
    tests = [
        {
            "vars": {"question": question},
            "metadata": {"topic": task},
            "threshold": 0.5,
            "assert": [
                {"type": "contains", "value": answer},
                {"type": "contains", "value": "How", "metric": "how", "weight": 0.5},
            ],
        }
        for task, questions in QUESTIONS.items()
        for question, answer in questions.items()
    ]
    provider = f"""
    const known = {json.dumps(known)};
    module.exports = class {{
      id() {{ return "knowing"; }}
      async callApi(prompt) {{
        if (prompt.includes("Peru")) throw new Error("no answer");
        const question = Object.keys(known).find((q) => prompt.includes(q));
        return {{ output: prompt.includes("1 + 2") ? "How? 4" : known[question] }};
      }}
    }};
    """
    config = {
        "description": "our questions",
        "prompts": ["{{question}}"],
        "providers": ["echo", {"id": "file://knowing.js", "label": "knowing"}],
        "tests": tests,
    }
    two_prompts = config | {"prompts": ["{{question}}", "Briefly: {{question}}"]}
    with tempfile.TemporaryDirectory() as work:
        Path(work, "knowing.js").write_text(provider)
        run_promptfoo(work, config, folder / "once", ["once.json", "once.jsonl"])
        repeated = folder / "repeated"
        run_promptfoo(work, two_prompts, repeated, ["repeated.json"], "--repeat", "2")
    forget(folder, work)


def make_every_eval_ever():
    """The lm-evaluation-harness fixtures, converted by Every Eval Ever's own converter."""
    folder = folder_for("every_eval_ever")
    program = Path(sys.executable).parent / "every_eval_ever"
    for run in sorted((FIXTURES / "lm_eval" / "two_models").iterdir()):
        command = [program, "convert", "lm_eval", "--include_samples", "--log_path", str(run)]
        subprocess.run([*command, "--output_dir", str(folder)], check=True)


def make_euroeval():
    """Results with scores of our own, by EuroEval's own class.

    EuroEval itself cannot run without a network: it asks the hub about every model.
    """
    from euroeval.data_models import BenchmarkResult

    folder = folder_for("euroeval/version_18")
    about = {
        "task": "sentiment-classification",
        "languages": ["da"],
        "num_model_parameters": 1000,
        "max_sequence_length": 64,
        "vocabulary_size": 100,
        "merge": False,
        "generative": True,
        "generative_type": "base",
    }
    levels = {"ours/alpha": 0.5, "ours/beta": 0.6}
    for model, level in levels.items():
        for dataset, ease in {"our-tweets": 0.0, "our-reviews": 0.1}.items():
            for few_shot in (True, False):
                raw = [
                    {
                        "test_mcc": level + ease + 0.01 * (7 * i % 10),
                        "test_macro_f1": 0.7 + 0.01 * i,
                    }
                    for i in range(10)
                ]
                mean = sum(scores["test_mcc"] for scores in raw) / 10
                total = {"test_mcc": 100 * mean, "test_mcc_se": 1.0}
                total |= {"test_macro_f1": 74.5, "test_macro_f1_se": 1.0}
                result = BenchmarkResult(
                    model=model,
                    dataset=dataset,
                    few_shot=few_shot,
                    validation_split=False,
                    results={"raw": raw, "total": total},
                    **about,
                )
                result.append_to_results(folder / "euroeval_benchmark_results.jsonl")


# Of random weights. Alpha happens to miss all four sums.
TINY_MODELS = {"ours/alpha": 2, "ours/beta": 1}


def write_lm_eval_tasks(folder):
    """Three tasks over local JSON: choices, choices of four questions, and free answers."""
    common = {"dataset_path": "json", "test_split": "test", "doc_to_text": "{{question}}"}
    metric = {"aggregation": "mean", "higher_is_better": True}
    choices = {
        "output_type": "multiple_choice",
        "doc_to_choice": "choices",
        "doc_to_target": "label",
        "metric_list": [{"metric": "acc", **metric}, {"metric": "acc_norm", **metric}],
    }
    number = {"function": "regex", "regex_pattern": "([0-9]+)"}
    free = {
        "output_type": "generate_until",
        "doc_to_target": "{{answer}}",
        "generation_kwargs": {"max_gen_toks": 4, "until": ["?"], "do_sample": False},
        "metric_list": [{"metric": "exact_match", **metric}],
        "filter_list": [
            {"name": "strict-match", "filter": [{"function": "take_first"}]},
            {"name": "flexible-extract", "filter": [number, {"function": "take_first"}]},
        ],
    }
    tasks = {
        "capitals": ("capitals", choices),
        "sums": ("sums", choices),
        "free_sums": ("sums", free),
    }
    for name, (questions, options) in tasks.items():
        answers = list(QUESTIONS[questions].values())
        lines = [
            {
                "question": question,
                "answer": answer,
                "page": i // 2,
                "choices": [*answers, "1", "2"],
                "label": answers.index(answer),
            }
            for i, (question, answer) in enumerate(QUESTIONS[questions].items())
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        data = {"dataset_kwargs": {"data_files": {"test": f"tasks/{name}.jsonl"}}}
        task = {"task": name, **common, **options, **data}
        # A YAML file may hold JSON.
        (folder / f"{name}.yaml").write_text(json.dumps(task, indent=1))


def write_tiny_model(folder, seed):
    """A GPT-2 of a few thousand random weights, over words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    text = " ".join(f"{q} {a}" for task in QUESTIONS.values() for q, a in task.items())
    splitter = pre_tokenizers.Whitespace()
    words = ["<end>", *sorted({word for word, _ in splitter.pre_tokenize_str(text)})]
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<end>"))
    tokenizer.pre_tokenizer = splitter
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<end>", unk_token="<end>", pad_token="<end>"
    ).save_pretrained(folder)
    torch.manual_seed(seed)
    size = {"vocab_size": len(words), "n_positions": 64, "n_embd": 16, "n_layer": 1, "n_head": 2}
    config = GPT2Config(**size, bos_token_id=0, eos_token_id=0)
    GPT2LMHeadModel(config).save_pretrained(folder)


def make_lm_eval():
    """Logs of lm-evaluation-harness: two tiny models, the dummy model, one model run twice."""
    folder = folder_for("lm_eval")
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        (work / "tasks").mkdir()
        write_lm_eval_tasks(work / "tasks")
        for name, seed in TINY_MODELS.items():
            write_tiny_model(work / name, seed)

        def run(output, tasks, *model):
            options = "--include_path tasks --batch_size 1 --device cpu --log_samples".split()
            command = [sys.executable, "-m", "lm_eval", "run", *model, "--tasks", tasks]
            command += [*options, "--output_path", str(folder / output)]
            offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
            environment = os.environ | offline | {"HF_HOME": str(work / "hf")}
            process = subprocess.run(
                command, cwd=work, env=environment, text=True, stdout=subprocess.PIPE, check=True
            )
            with open(folder / "printed.txt", "a") as printed:
                printed.write(process.stdout)

        for name in TINY_MODELS:
            model = ("--model", "hf", "--model_args", f"pretrained={name},dtype=float32")
            run("two_models", "capitals,sums,free_sums", *model)
        for seed in (1, 2):
            run("dummy", "capitals", "--model", "dummy", "--seed", str(seed))
        model = ("--model", "hf", "--model_args", "pretrained=ours/alpha,dtype=float32")
        run("in_pieces", "capitals", *model)
        run("in_pieces", "sums", *model)
        run("one_file/all.json", "capitals", *model)


if __name__ == "__main__":
    os.chdir(HERE)
    for name in sys.argv[1:]:
        globals()[f"make_{name}"]()
