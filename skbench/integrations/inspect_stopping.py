"""Early stopping of an evaluation that Inspect runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from skbench._checks import listed
from skbench._types import Path
from skbench.comparison import SequentialComparison, SequentialMean, SequentialResult
from skbench.integrations._sample_scores import baseline_of, number_of, text_of

_RUNNING = WeakValueDictionary()  # by the id that Inspect gives a run of a task


@cache
def _hear_of_failures():
    """Have Inspect report samples that end without a score, too: early stopping hears of others."""
    from inspect_ai.hooks import Hooks, hooks

    @hooks(name="skbench_stopping", description="Samples that end without a score.")
    class SampleEnds(Hooks):
        def enabled(self):
            return len(_RUNNING) > 0

        async def on_sample_end(self, data):
            stopping = _RUNNING.get(data.eval_id)
            if stopping is not None and not data.sample.scores:
                stopping._count(data.sample.id, data.sample.epoch, np.nan)


class InspectStopping:
    """Stop a task of Inspect once its items have decided, or will not decide.

    Parameters
    ----------
    sequential : SequentialMean or SequentialComparison
        The decision to make; it may have seen items before.
    baseline : str or dict, default=None
        Path of the log of the baseline, or its scores by sample id, for a `SequentialComparison`
        whose first name is the model that runs now. Samples without one are run but not compared.
        Of a log, the means of epochs count, and a task with other texts under its ids is refused.
    scorer : str, default=None
        Scorer whose score counts; None takes the first.
    state : str or path, default=None
        File to which the state is saved after every batch.

    Attributes
    ----------
    result : SequentialResult
        The result so far.

    Notes
    -----
    Early answers may be the easy ones. Samples are therefore counted in the order of the
    dataset, each with the mean of all its epochs, and a late one holds up those after it. Epochs
    that fail, or stay without a score, are left out, as by Inspect itself.
    Samples are known by their task and id: one that `sequential` has counted is not counted again.
    A `SequentialMean` takes the name of the model, if it has none, and refuses another.
    The order must be unrelated to the scores: shuffle the dataset (``dataset.shuffle(seed)``),
    and give samples ids, as Inspect numbers the others only after that.

    When not to use it: to save epochs of single samples.

    Examples
    --------
    >>> from skbench import SequentialMean
    >>> from skbench.integrations import InspectStopping
    >>> stopping = InspectStopping(SequentialMean(target=0.5))
    >>> # inspect_ai.Task(dataset=..., solver=..., scorer=..., early_stopping=stopping)
    >>> stopping.result.stop
    False
    """

    def __init__(
        self,
        sequential: SequentialMean | SequentialComparison,
        baseline: str | dict[Any, float] | None = None,
        scorer: str | None = None,
        state: Path | None = None,
    ) -> None:
        if hasattr(sequential, "names") != (baseline is not None):
            raise ValueError(
                "A SequentialComparison needs baseline=..., a log or scores by sample id, and a "
                "SequentialMean takes none."
            )
        self.sequential = sequential
        self.baseline, self._texts = None, {}
        if baseline is not None:
            self.baseline, self._texts, _ = baseline_of(baseline, scorer, means=True)
        self.scorer, self.state = scorer, state
        self._task, self._order, self._epochs, self._scores, self._next = "", [], 1, {}, 0

    @property
    def result(self) -> SequentialResult:
        """The result so far."""
        return self.sequential.result

    async def start_task(self, task: Any, samples: Sequence[Any], epochs: int) -> str:
        """Register the samples and return a name for the log."""
        if self.baseline is None:  # names of a comparison are the user's own
            if self.sequential.name not in (None, task.model):
                raise ValueError(
                    f"The SequentialMean is of {self.sequential.name!r}, and the task runs "
                    f"{task.model!r}. Start one for each model."
                )
            self.sequential.name = task.model
        self._task = str(task.task).rsplit("/", 1)[-1]  # as the log is read later
        self._order, self._epochs = [sample.id for sample in samples], epochs
        if self.baseline is not None and self.baseline.keys().isdisjoint(map(str, self._order)):
            raise ValueError(
                f"baseline has scores of {listed(self.baseline, 3, repr)}, and of no sample of the "
                f"task, which has {listed(self._order, 3, repr)}. Give the scores of these."
            )
        texts = {str(x.id): text_of(x.input) for x in samples if str(x.id) in self._texts}
        odd = [item for item, text in texts.items() if text != self._texts[item]]
        if odd:
            raise ValueError(
                "In the log of the baseline, samples of the same id have other texts: "
                f"{listed(odd, 3, repr)}. Give each sample an id of its own before the dataset is "
                "shuffled, and run the baseline again."
            )
        self._scores, self._next = {}, 0
        _RUNNING[task.eval_id] = self
        return "skbench"

    async def schedule_sample(self, id: str | int, epoch: int) -> Any:
        """Skip the sample if nothing is left to decide, else return None."""
        from inspect_ai.util import EarlyStop

        _hear_of_failures()
        result = self.result
        return EarlyStop(id=id, epoch=epoch, reason=str(result)) if result.stop else None

    async def complete_sample(self, id: str | int, epoch: int, scores: Mapping[str, Any]) -> None:
        """Count the samples that are complete up to the first that is not."""
        scorer = next(iter(scores)) if self.scorer is None else self.scorer
        if scorer not in scores:
            raise ValueError(f"scorer={scorer!r}: sample {id!r} has scores of {listed(scores)}.")
        self._count(id, epoch, number_of(scores[scorer].score, id))

    def _count(self, id, epoch, score):
        self._scores.setdefault(id, {})[epoch] = score
        rows = []
        while self._next < len(self._order):
            sample = self._order[self._next]
            answers = np.array([*self._scores.get(sample, {}).values()])
            if len(answers) < self._epochs:
                break
            self._next += 1
            answers, item = answers[~np.isnan(answers)], (self._task, sample)
            if item in self.sequential or not len(answers):
                continue
            score = float(np.mean(answers))
            if self.baseline is None:
                rows.append((item, score))
            elif str(sample) in self.baseline:
                rows.append((item, score, self.baseline[str(sample)]))
        if not rows:
            return
        items, *scores = zip(*rows, strict=True)
        self.sequential.update(*scores, items=items)
        if self.state is not None:
            self.sequential.save(self.state)

    async def complete_task(self) -> dict[str, Any]:
        """Return what Inspect writes into its log."""
        names = ("verdict", "value", "low", "high", "n_items", "futile")
        return {name: getattr(self.result, name) for name in names}
