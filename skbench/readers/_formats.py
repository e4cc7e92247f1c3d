"""The table of formats; the first whose signs fit a file is taken."""

from skbench.readers._agents import SWE_BENCH, TAU, TAU2
from skbench.readers._apps import DEEPEVAL, MLFLOW, OPENAI
from skbench.readers._benchmarks import MT_BENCH, MTEB, OPENCOMPASS
from skbench.readers._euroeval import EUROEVAL
from skbench.readers._every_eval_ever import EVERY_EVAL_EVER
from skbench.readers._helm import HELM
from skbench.readers._inspect import INSPECT
from skbench.readers._lm_eval import LM_EVAL
from skbench.readers._promptfoo import PROMPTFOO
from skbench.readers._tests import JUNIT, PYTEST

FORMATS = {
    "lm-eval": LM_EVAL,
    "every-eval-ever": EVERY_EVAL_EVER,
    "promptfoo": PROMPTFOO,
    "inspect": INSPECT,
    "helm": HELM,
    "euroeval": EUROEVAL,
    "tau2": TAU2,
    "tau-bench": TAU,
    "swe-bench": SWE_BENCH,
    "deepeval": DEEPEVAL,
    "mlflow": MLFLOW,
    "openai-evals": OPENAI,
    "mt-bench": MT_BENCH,
    "opencompass": OPENCOMPASS,
    "mteb": MTEB,
    "junit": JUNIT,
    "pytest-json": PYTEST,
}
TITLES = {name: form.title for name, form in FORMATS.items()} | {"table": "tables"}
