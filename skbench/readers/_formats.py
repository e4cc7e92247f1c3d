"""The known formats. A file has the first format whose signs match."""

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

_ALL = (
    LM_EVAL, EVERY_EVAL_EVER, PROMPTFOO, INSPECT, HELM, EUROEVAL, TAU2, TAU, SWE_BENCH, DEEPEVAL,
    MLFLOW, OPENAI, MT_BENCH, OPENCOMPASS, MTEB, JUNIT, PYTEST,
)  # fmt: skip
FORMATS = {form.name: form for form in _ALL}
TITLES = {name: form.title for name, form in FORMATS.items()} | {"table": "tables"}
