"""Logs of lm-evaluation-harness, see make_fixtures."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from make_fixtures import QUESTIONS, folder_for

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
