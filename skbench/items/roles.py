"""Which column is which: the table of names by which roles are recognised, and no guess beside it.

A column plays a role because the caller says so, or because its name stands in this table: its
whole name or, where dots tell how deep it stood in a record, the last part of it.
"""

import difflib
import re
from functools import cache

import pandas as pd

from skbench._checks import listed, names_of, plain
from skbench._notes import CHOICE, ROUTINE, Note
from skbench._undecided import Undecided

# In order of preference; compared in lower case with punctuation as underscores.
NAMES = {
    "model": "model model_name model_id model_name_or_path system llm engine".split(),
    "version": "model_version version model_revision revision checkpoint release".split(),
    "item": (
        "item item_id sample_id question_id doc_id example_id instance_id prompt_id instruction_id "
        "problem_id query_id task_id qid pid uid id idx index"
    ).split(),
    "attempt": (
        "repeat repeat_id epoch trial repetition attempt attempt_id replicate run run_id "
        "run_number seed"
    ).split(),
    "cluster": "cluster cluster_id passage_id group_id document_id context_id".split(),
    "topic": (
        "topic task task_name category subject subset subtask domain dataset benchmark src"
    ).split(),
    "score": (
        "score correct is_correct accuracy acc acc_norm exact_match em pass passed pass1 pass_1 "
        "success resolved reward f1 value rating"
    ).split(),
    "label": "y_true label labels gold target ground_truth truth reference expected".split(),
    "prediction": "y_pred prediction predicted pred predicted_label".split(),
    "probability": "y_prob y_proba y_score".split(),
    "answer": "answer correct_answer best_answer gold_answer answer_key".split(),
    "status": "status state run_status run_state".split(),
    "cost": "cost price usd tokens total_tokens latency seconds duration".split(),
    "model_a": "model_a model_1 model1 left model_left generator_1 system_a a".split(),
    "model_b": "model_b model_2 model2 right model_right generator_2 system_b b".split(),
    "winner": (
        "winner vote preference preferred human_preference human_vote outcome result verdict "
        "choice won label"
    ).split(),
}
# Scores that judge one system's answers each in a way of its own: several of them need a choice.
METRICS = frozenset(
    "faithfulness answer_relevancy answer_relevance context_precision context_recall "
    "context_relevancy context_entity_recall answer_correctness answer_similarity "
    "semantic_similarity groundedness relevance coherence fluency helpfulness harmlessness "
    "conciseness correctness bleu rouge rouge_1 rouge_2 rouge_l rouge1 rouge2 rougel meteor "
    "bertscore bert_score chrf comet precision recall f1_score f1_macro f1_micro auc roc_auc mcc "
    "mc1 mc2 ndcg map mrr".split()
)
# What a column of costs is called at its end, with a unit behind it or not.
_COST = re.compile(
    r"(^|_)(costs?|prices?|usd|dollars|tokens?|latency|seconds|duration|runtime|elapsed|time)"
    r"(_(ms|s|sec|usd|dollars))?$"
)
SURE_WINNERS = ("winner", "vote", "preference", "preferred")
_TIES = (
    "tie tied draw equal same both neither tie_bothbad tie_inconsistent bothbad both_bad both_good"
).split()
# Words for the outcome of a vote to its first model, and columns of 1 and 0 for each outcome.
VOTE_OUTCOMES = dict.fromkeys(("first", "win", *NAMES["model_a"]), 1.0)
VOTE_OUTCOMES |= dict.fromkeys(("second", "loss", *NAMES["model_b"]), 0.0)
VOTE_OUTCOMES |= dict.fromkeys(_TIES, 0.5)
VOTE_FLAGS = {f"winner_{word}": y for word, y in VOTE_OUTCOMES.items()} | {"tie": 0.5}
# Families of language models; a column of such a name holds the scores of a model.
FAMILIES = (
    "gpt chatgpt o1 o3 o4 davinci text_davinci claude gemini gemma meta_llama llama codellama "
    "vicuna wizardlm wizardcoder mistral mixtral mathstral codestral ministral magistral qwen qwq "
    "deepseek c4ai_command command_r cohere grok jamba dbrx bloomz gpt2 gptj gpt_neox roberta "
    "deberta glm chatglm kimi moonshot ernie internlm baichuan starcoder olmo nemotron openchat "
    "stablelm minimax doubao hunyuan exaone smollm eurollm openhermes"
).split()
# Words that mean other things, too: a version must follow, as in Yi-6B.
WORDS_OF_FAMILIES = (
    "yi phi opt aya nova orca opus sonnet haiku titan solar bard palm falcon zephyr starling "
    "hermes granite viking pythia bloom codex flan t5 ul2 mpt alpaca dolly tulu nous bert electra"
).split()
_FAMILY = re.compile(
    rf"({'|'.join(FAMILIES)})([0-9_]|$)|({'|'.join(WORDS_OF_FAMILIES)})_?[0-9]+(_[0-9]+)?b?(_|$)"
)
# What is told of a model's answer beside its score, or is better where it is less; and what
# is an item or one of several answers to it, such as q7 or attempt_2.
_NO_SCORE = re.compile(
    r"_(tokens?|cost|price|usd|latency|seconds|time|duration|length|len|chars|words|answer|output|"
    r"response|text|prompt|reason|explanation|logprob|prob|confidence|certainty|perplexity|loss|"
    r"error|[wct]er|rmse|mae|mse|toxicity|bias|hallucination|rank|elo|votes?|wins?|id|index|version|"
    r"date|url|label|class|model|start|end|tokens_(sent|received))$"
    r"|^_(q|question|item|sample|task|attempt|trial|run|seed|epoch)?_?[0-9]+$"
)
IN_RECORD = re.compile(r".*\.(?=[A-Za-z_])")  # in front of a field; gpt-4.1 is none
_MOST_GROUPS = 30  # different cells of a column that may be named as groups
ROLES = ("model", "item", "cluster", "topic", "score")  # what a row of results may have


def find_roles(columns, named, guess=ROLES):
    """Role -> columns, by the caller's word or by their usual names, and notes on the latter."""
    roles = {role: names_of(name) for role, name in named.items() if name is not None}
    for role, names in roles.items():
        check_exist(names, columns, f"{role}=")
    rivals = {}
    for role in [role for role in guess if role not in roles]:
        taken = [name for names in roles.values() for name in names]
        matches = _matches(columns, _usual_names(role, roles), taken)
        if role == "item" and not matches and named.get("cluster") is not None:
            # Items answered several times are clusters: one column for both.
            matches = _matches(roles["cluster"], _usual_names(role, roles), [])
        if role == "score" and not matches:
            matches = _the_one_metric(columns, taken)
        if matches:
            _refuse_equals(role, matches)
            roles[role], rivals[role] = matches[:1], matches[1:]
    taken = [name for names in roles.values() for name in names]
    notes = [
        _name_note(role, roles[role][0], [name for name in others if name not in taken])
        for role, others in rivals.items()
    ]
    return roles, notes


def _the_one_metric(columns, taken):
    """The one column that bears a metric's name; several need the caller's word."""
    metrics = [name for name in columns if is_metric(name) and name not in taken]
    if len(metrics) > 1:
        raise Undecided(
            f"Columns {listed(metrics)} are metrics of one system, and only one can be the score.",
            [{"score": name} for name in metrics],
        )
    return metrics


def _refuse_equals(role, matches):
    """Of two columns of one name, at the same depth or not, nobody can tell which is meant."""
    first = matches[0]
    equal = [
        name for name in matches if field(name) == field(first) and _depth(name) == _depth(first)
    ]
    if len(equal) > 1 and role != "cluster":
        option = "topic" if role == "topic" else role
        raise Undecided(
            f"Columns {listed(equal)} fit the {role} equally.", [{option: name} for name in equal]
        )


def is_metric(name):
    """Whether a column bears the name of a metric."""
    return field(name) in METRICS


def is_of_a_family(name):
    """Whether a column bears the name of a model of a known family, and not of its cost or text."""
    plain = normal(str(name).rsplit("/", 1)[-1])
    told = is_metric(name) or is_beside_a_score(name) or _JUDGE.search(plain)
    return bool(_FAMILY.match(plain)) and not told


def is_beside_a_score(name):
    """Whether a name says that a column tells something else of an answer than its score."""
    return _NO_SCORE.search(f"_{field(str(name).split(' (')[0])}") is not None


def are_votes(columns):
    """Whether rows are votes between two models."""
    names = {normal(name) for name in columns}
    pairs = [*zip(NAMES["model_a"], NAMES["model_b"], strict=True), ("winner", "loser")]
    known = [first for first, second in pairs if {first, second} <= names]
    # Models may be called left and right, or a and b.
    sure = any("_" in first or first[-1] == "1" for first in known)
    return sure or bool(known and names & set(SURE_WINNERS))


def columns_of(role, columns):
    """Columns with a usual name of a role, in order of preference."""
    return _matches(columns, NAMES[role], [])


def cost_columns(table):
    """Columns of numbers that may be costs by their names, the usual names first."""
    named = [name for name in table if _COST.search(field(name))]
    usual = columns_of("cost", named)
    numbers = [name for name in table if pd.api.types.is_numeric_dtype(table[name])]
    return [name for name in dict.fromkeys([*usual, *named]) if name in numbers]


def column_like(name, columns):
    """The first column whose name is this one, but for its case and its depth; or None."""
    return next((column for column in columns if field(column) == field(name)), None)


def may_be(role, table, taken):
    """Columns, but those taken, whose values fit a role: numbers, or names that repeat."""
    free = [name for name in table if name not in taken]
    if role == "probability":
        return [name for name in free if pd.api.types.is_float_dtype(table[name])]
    return [name for name in free if 1 < table[name].nunique() <= _MOST_GROUPS]


HUMAN_WORDS = "human annotator annotators expert people".split()
JUDGE_WORDS = "judge autorater grader".split()
# A judge, too: the name of a model before one of what it gives, as in gpt4_score.
_MODELS_AS_JUDGES = "gpt davinci claude llm llama gemini".split()
_VERDICTS = "eval score verdict label grade rating".split()
_HUMAN = re.compile(rf"(^|_)({'|'.join(HUMAN_WORDS)})(_|$|[0-9])")
_JUDGE = re.compile(
    rf"{'|'.join(JUDGE_WORDS)}|(^|_)({'|'.join(_MODELS_AS_JUDGES)})[a-z0-9]*_({'|'.join(_VERDICTS)})"
)


def judge_columns(columns):
    """Columns of human labels and of a judge's verdicts, by their names."""
    humans = [name for name in columns if _HUMAN.search(normal(name))]
    judges = [name for name in columns if name not in humans and _JUDGE.search(normal(name))]
    return humans, judges


def check_exist(names, columns, option):
    """Complain about the first name that is no column, listing those there are."""
    for name in names:
        if name not in columns:
            raise ValueError(
                f"{option} names column {name!r}, but the file has only: {listed(columns)}."
                f"{did_you_mean(name, columns)}"
            )


def check_model(name, models):
    """Complain about a name that is no model, with those there are and the one that is like it."""
    if name not in models:
        shown = listed(models, most=6, show=repr)
        raise ValueError(
            f"There is no model {name!r}. There are: {shown}.{did_you_mean(name, models)}"
        )


def did_you_mean(name, names):
    """A question where one of the names is much like this one; else nothing."""
    by_text = {str(known): plain(known) for known in names}
    alike = difflib.get_close_matches(str(name), by_text, n=1)
    return f" Did you mean {by_text[alike[0]]!r}?" if alike else ""


_WHOLE = r"^0*([0-9]+)(\.0+)?$"


def labels_alike(items):
    """Labels of models, topics and items that differ in blanks, case or zeros alone, in words."""
    for role in ("model", "topic", "item"):
        if role not in items or pd.api.types.is_numeric_dtype(items[role]):
            continue
        labels = pd.Series(items[role].unique()).astype(str)
        forms = labels.str.lower().str.replace(" ", "").str.strip()
        forms = forms.str.replace(_WHOLE, r"\1", regex=True)
        if forms.is_unique:
            continue
        alike = [found.tolist() for _, found in labels.groupby(forms, sort=False)]
        alike = [found for found in alike if len(found) > 1]
        yield (
            f"{role}: {' and '.join(map(repr, alike[0][:2]))} differ in blanks, case or zeros "
            f"alone{f', as {len(alike) - 1} more do' * (len(alike) > 1)}; they are taken for "
            "different ones"
        )


def _usual_names(role, roles):
    names = NAMES[role]
    item = roles.get("item")
    # Several samples per question: the question is then what samples cluster in.
    if role == "cluster" and item and normal(item[0]) == "sample_id":
        return (*names, "question_id")
    return names


def _matches(columns, usual_names, taken):
    """Columns by order of the names; of one name, those that are it whole come first."""
    free = sorted((name for name in columns if name not in taken), key=_depth)
    fit = (name for usual in usual_names for name in free if usual in (normal(name), field(name)))
    return list(dict.fromkeys(fit))


@cache
def field(name):
    """The last part of a name with dots, where totalCost is total_cost."""
    return normal(re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", IN_RECORD.sub("", str(name))))


def _depth(name):
    return str(name).count(".")


@cache
def normal(name):
    """A name in lower case, with punctuation as underscores."""
    return re.sub(r"[^a-z0-9]+", "_", str(name).lower()).strip("_")


def _name_note(role, name, others):
    also = f" (it might be {listed(others)}: {role}=)" if others else ""
    return Note(f"{role}: column {name!r}{also}", CHOICE if others else ROUTINE)
