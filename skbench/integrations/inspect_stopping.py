"""Early stopping of Inspect tasks."""

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

_RUNNING = WeakValueDictionary()  # by Inspect's id of the run of a task


@cache
def _hook_unscored_samples():
    """Hook into samples that end without a score, which Inspect does not report otherwise."""
    from inspect_ai.hooks import Hooks, hooks

    @hooks(name="skbench_stopping", description="Count samples that end without a score.")
    class SampleEnds(Hooks):
        def enabled(self):
            return len(_RUNNING) > 0

        async def on_sample_end(self, data):
            stopping = _RUNNING.get(data.eval_id)
            if stopping is not None and not data.sample.scores:
                stopping._count(data.sample.id, data.sample.epoch, np.nan)


class InspectStopping:
    """Stop an Inspect task as soon as its items decide, or can no longer decide.

    Parameters
    ----------
    sequential : SequentialMean or SequentialComparison
        The decision rule. It may already contain items.
    baseline : str or dict, default=None
        Path of the log of the baseline, or its scores by sample id. It is needed for a
        `SequentialComparison`, whose first name must be the model that runs now. Samples without
        a baseline score are run but not compared. The scores of a log are means of epochs. A task
        with the same ids but different texts raises an error.
    scorer : str, default=None
        Scorer whose score is used, by default the first.
    state : str or path, default=None
        File to which the state is saved after every batch.

    Attributes
    ----------
    result : SequentialResult
        The result so far.

    Notes
    -----
    Early answers may be the easy ones. Samples are therefore counted in the order of the data set,
    so an unfinished sample delays those after it. Each counts with the mean of all its epochs.
    Epochs without a score are excluded, as in Inspect. Task and id identify a sample, and a sample
    in `sequential` is not counted again. A `SequentialMean` without a name takes that of the
    model, and raises an error for another model.

    The order must be unrelated to the scores, so shuffle the data set
    (``dataset.shuffle(seed)``). Give samples ids before, because Inspect numbers samples without
    ids after the shuffle.

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
                "A SequentialComparison needs baseline=... (a log or scores by sample id), but a "
                "SequentialMean does not accept it."
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
        if self.baseline is None:  # the names of a comparison are free
            if self.sequential.name not in (None, task.model):
                raise ValueError(
                    f"The SequentialMean is for {self.sequential.name!r}, but the task runs "
                    f"{task.model!r}. Create one for each model."
                )
            self.sequential.name = task.model
        self._task = str(task.task).rsplit("/", 1)[-1]  # as in the rows that are read from the log
        self._order, self._epochs = [sample.id for sample in samples], epochs
        if self.baseline is not None and self.baseline.keys().isdisjoint(map(str, self._order)):
            raise ValueError(
                f"baseline has no score of any sample of the task. It has the ids "
                f"{listed(self.baseline, 3, repr)}, but the task has "
                f"{listed(self._order, 3, repr)}."
            )
        texts = {str(x.id): text_of(x.input) for x in samples if str(x.id) in self._texts}
        changed = [item for item, text in texts.items() if text != self._texts[item]]
        if changed:
            raise ValueError(
                f"Samples {listed(changed, 3, repr)} have different texts in the log of the "
                "baseline. Give each sample an id before shuffling the data set, and rerun the "
                "baseline."
            )
        self._scores, self._next = {}, 0
        _RUNNING[task.eval_id] = self
        return "skbench"

    async def schedule_sample(self, id: str | int, epoch: int) -> Any:
        """Skip the sample if nothing is left to decide, else return None."""
        from inspect_ai.util import EarlyStop

        _hook_unscored_samples()
        result = self.result
        return EarlyStop(id=id, epoch=epoch, reason=str(result)) if result.stop else None

    async def complete_sample(self, id: str | int, epoch: int, scores: Mapping[str, Any]) -> None:
        """Count the samples that are complete up to the first that is not."""
        scorer = next(iter(scores)) if self.scorer is None else self.scorer
        if scorer not in scores:
            raise ValueError(
                f"scorer={scorer!r}, but sample {id!r} has only scores of {listed(scores)}."
            )
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
        """Return the result for Inspect's log."""
        names = ("verdict", "value", "low", "high", "n_items", "futile")
        return {name: getattr(self.result, name) for name in names}
