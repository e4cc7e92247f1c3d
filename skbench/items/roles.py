"""The roles of columns, by the caller's choice or by the usual names listed here.

The whole name of a column counts or, for a nested field with dots in its name, the last part.
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
# Metrics of answers: if a table has several of them, the caller must choose one.
METRICS = frozenset(
    "faithfulness answer_relevancy answer_relevance context_precision context_recall "
    "context_relevancy context_entity_recall answer_correctness answer_similarity "
    "semantic_similarity groundedness relevance coherence fluency helpfulness harmlessness "
    "conciseness correctness bleu rouge rouge_1 rouge_2 rouge_l rouge1 rouge2 rougel meteor "
    "bertscore bert_score chrf comet precision recall f1_score f1_macro f1_micro auc roc_auc mcc "
    "mc1 mc2 ndcg map mrr".split()
)
# How the name of a cost column ends, with or without a unit.
_COST = re.compile(
    r"(^|_)(costs?|prices?|usd|dollars|tokens?|latency|seconds|duration|runtime|elapsed|time)"
    r"(_(ms|s|sec|usd|dollars))?$"
)
SURE_WINNERS = ("winner", "vote", "preference", "preferred")
_TIES = (
    "tie tied draw equal same both neither tie_bothbad tie_inconsistent bothbad both_bad both_good"
).split()
# Outcomes of a vote for its first model by word, and by 0/1 column.
VOTE_OUTCOMES = dict.fromkeys(("first", "win", *NAMES["model_a"]), 1.0)
VOTE_OUTCOMES |= dict.fromkeys(("second", "loss", *NAMES["model_b"]), 0.0)
VOTE_OUTCOMES |= dict.fromkeys(_TIES, 0.5)
VOTE_FLAGS = {f"winner_{word}": y for word, y in VOTE_OUTCOMES.items()} | {"tie": 0.5}
# Families of language models: a column with such a name has the scores of a model.
FAMILIES = (
    "gpt chatgpt o1 o3 o4 davinci text_davinci claude gemini gemma meta_llama llama codellama "
    "vicuna wizardlm wizardcoder mistral mixtral mathstral codestral ministral magistral qwen qwq "
    "deepseek c4ai_command command_r cohere grok jamba dbrx bloomz gpt2 gptj gpt_neox roberta "
    "deberta glm chatglm kimi moonshot ernie internlm baichuan starcoder olmo nemotron openchat "
    "stablelm minimax doubao hunyuan exaone smollm eurollm openhermes"
).split()
# Words with other meanings, so a version must follow, as in Yi-6B.
WORDS_OF_FAMILIES = (
    "yi phi opt aya nova orca opus sonnet haiku titan solar bard palm falcon zephyr starling "
    "hermes granite viking pythia bloom codex flan t5 ul2 mpt alpaca dolly tulu nous bert electra"
).split()
_FAMILY = re.compile(
    rf"({'|'.join(FAMILIES)})([0-9_]|$)|({'|'.join(WORDS_OF_FAMILIES)})_?[0-9]+(_[0-9]+)?b?(_|$)"
)
# Names that rule out a score: properties of an answer, metrics for which lower is better, and
# items or repeats such as q7 or attempt_2.
_NO_SCORE = re.compile(
    r"_(tokens?|cost|price|usd|latency|seconds|time|duration|length|len|chars|words|answer|output|"
    r"response|text|prompt|reason|explanation|logprob|prob|confidence|certainty|perplexity|loss|"
    r"error|[wct]er|rmse|mae|mse|toxicity|bias|hallucination|rank|elo|votes?|wins?|id|index|version|"
    r"date|url|label|class|model|start|end|tokens_(sent|received))$"
    r"|^_(q|question|item|sample|task|attempt|trial|run|seed|epoch)?_?[0-9]+$"
)
IN_RECORD = re.compile(r".*\.(?=[A-Za-z_])")  # path of a nested field, but not "gpt-4." in gpt-4.1
_MOST_GROUPS = 30  # different cells of a column that is suggested as groups
ROLES = ("model", "item", "cluster", "topic", "score")  # of columns in item rows


def find_roles(columns, named, guess=ROLES):
    """Return role -> columns, as named by the caller or by usual names, and notes on the latter."""
    roles = {role: names_of(name) for role, name in named.items() if name is not None}
    for role, names in roles.items():
        check_exist(names, columns, f"{role}=")
    rivals = {}
    for role in [role for role in guess if role not in roles]:
        taken = [name for names in roles.values() for name in names]
        matches = _matches(columns, _usual_names(role, roles), taken)
        if role == "item" and not matches and named.get("cluster") is not None:
            # If items were answered several times, the cluster column is also the item column.
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
    """Return the only column named for a metric. Raise if there are several."""
    metrics = [name for name in columns if is_metric(name) and name not in taken]
    if len(metrics) > 1:
        raise Undecided(
            f"Columns {listed(metrics)} are metrics, but only one can be the score.",
            [{"score": name} for name in metrics],
        )
    return metrics


def _refuse_equals(role, matches):
    """Raise if the two best columns have the same name at the same depth."""
    first = matches[0]
    equal = [
        name for name in matches if field(name) == field(first) and _depth(name) == _depth(first)
    ]
    if len(equal) > 1 and role != "cluster":
        option = "topic" if role == "topic" else role
        raise Undecided(
            f"Columns {listed(equal)} are equally good candidates for the {role}.",
            [{option: name} for name in equal],
        )


def is_metric(name):
    """Return whether a column is named for a metric."""
    return field(name) in METRICS


def is_of_a_family(name):
    """Return whether a column is named for a model of a known family, not for its cost or text."""
    plain = normal(str(name).rsplit("/", 1)[-1])
    other = is_metric(name) or is_beside_a_score(name) or _JUDGE.search(plain)
    return bool(_FAMILY.match(plain)) and not other


def is_beside_a_score(name):
    """Return whether a column is named for a property of an answer other than its score."""
    return _NO_SCORE.search(f"_{field(str(name).split(' (')[0])}") is not None


def are_votes(columns):
    """Return whether rows are votes between two models."""
    names = {normal(name) for name in columns}
    pairs = [*zip(NAMES["model_a"], NAMES["model_b"], strict=True), ("winner", "loser")]
    known = [first for first, second in pairs if {first, second} <= names]
    # "left" and "right", or "a" and "b", are ambiguous without a winner column.
    sure = any("_" in first or first[-1] == "1" for first in known)
    return sure or bool(known and names & set(SURE_WINNERS))


def columns_of(role, columns):
    """Return the columns with a usual name of a role, in order of preference."""
    return _matches(columns, NAMES[role], [])


def cost_columns(table):
    """Return numeric columns that are named for costs, the usual names first."""
    named = [name for name in table if _COST.search(field(name))]
    usual = columns_of("cost", named)
    numbers = [name for name in table if pd.api.types.is_numeric_dtype(table[name])]
    return [name for name in dict.fromkeys([*usual, *named]) if name in numbers]


def column_like(name, columns):
    """Return the first column with this name, ignoring case and depth, or None."""
    return next((column for column in columns if field(column) == field(name)), None)


def may_be(role, table, taken):
    """Return free columns whose values fit a role: floats, or labels that repeat."""
    free = [name for name in table if name not in taken]
    if role == "probability":
        return [name for name in free if pd.api.types.is_float_dtype(table[name])]
    return [name for name in free if 1 < table[name].nunique() <= _MOST_GROUPS]


HUMAN_WORDS = "human annotator annotators expert people".split()
JUDGE_WORDS = "judge autorater grader".split()
# Also a judge: the name of a model before a word for its verdict, as in gpt4_score.
_MODELS_AS_JUDGES = "gpt davinci claude llm llama gemini".split()
_VERDICTS = "eval score verdict label grade rating".split()
_HUMAN = re.compile(rf"(^|_)({'|'.join(HUMAN_WORDS)})(_|$|[0-9])")
_JUDGE = re.compile(
    rf"{'|'.join(JUDGE_WORDS)}|(^|_)({'|'.join(_MODELS_AS_JUDGES)})[a-z0-9]*_({'|'.join(_VERDICTS)})"
)


def judge_columns(columns):
    """Return the columns of human labels and of judges' verdicts, by their names."""
    humans = [name for name in columns if _HUMAN.search(normal(name))]
    judges = [name for name in columns if name not in humans and _JUDGE.search(normal(name))]
    return humans, judges


def check_exist(names, columns, option):
    """Raise for the first name that is not a column, and list the columns."""
    for name in names:
        if name not in columns:
            raise ValueError(
                f"{option} names column {name!r}, but the columns are: {listed(columns)}."
                f"{did_you_mean(name, columns)}"
            )


def check_model(name, models):
    """Raise for a name that is not a model, and list the models and the most similar one."""
    if name not in models:
        shown = listed(models, most=6, show=repr)
        raise ValueError(
            f"There is no model {name!r}. The models are: {shown}.{did_you_mean(name, models)}"
        )


def did_you_mean(name, names):
    """Return a question with the most similar name, or an empty text."""
    by_text = {str(known): plain(known) for known in names}
    similar = difflib.get_close_matches(str(name), by_text, n=1)
    return f" Did you mean {by_text[similar[0]]!r}?" if similar else ""


_WHOLE = r"^0*([0-9]+)(\.0+)?$"


def similar_labels(items):
    """Yield notes on labels that differ only in spaces, case or zeros."""
    for role in ("model", "topic", "item"):
        if role not in items or pd.api.types.is_numeric_dtype(items[role]):
            continue
        labels = pd.Series(items[role].unique()).astype(str)
        forms = labels.str.lower().str.replace(" ", "").str.strip()
        forms = forms.str.replace(_WHOLE, r"\1", regex=True)
        if forms.is_unique:
            continue
        similar = [found.tolist() for _, found in labels.groupby(forms, sort=False)]
        similar = [found for found in similar if len(found) > 1]
        more = f" (as do {len(similar) - 1} more pairs)" * (len(similar) > 1)
        yield (
            f"{role} labels {' and '.join(map(repr, similar[0][:2]))} differ only in spaces, case "
            f"or zeros{more}, but count as different"
        )


def _usual_names(role, roles):
    names = NAMES[role]
    item = roles.get("item")
    # If items are samples, their clusters are questions.
    if role == "cluster" and item and normal(item[0]) == "sample_id":
        return (*names, "question_id")
    return names


def _matches(columns, usual_names, taken):
    """Return columns in the order of the usual names, top-level fields first."""
    free = sorted((name for name in columns if name not in taken), key=_depth)
    fit = (name for usual in usual_names for name in free if usual in (normal(name), field(name)))
    return list(dict.fromkeys(fit))


@cache
def field(name):
    """Return the last part of a dotted name in normal form, with totalCost as total_cost."""
    return normal(re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", IN_RECORD.sub("", str(name))))


def _depth(name):
    return str(name).count(".")


@cache
def normal(name):
    """Return a name in lower case, with underscores for punctuation."""
    return re.sub(r"[^a-z0-9]+", "_", str(name).lower()).strip("_")


def _name_note(role, name, others):
    also = f", not {listed(others)} (choose with {role}=)" if others else ""
    return Note(f"column {name!r} is the {role}{also}", CHOICE if others else ROUTINE)
