"""Bars of long loops, in notebooks and on terminals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from skbench._progress import listening


@contextmanager
def show_progress() -> Iterator[None]:
    """Show a bar for every long loop inside the block.

    Repetitions of a study, splits, earlier models and steps of a mixed model are counted, also
    where ``n_jobs`` gives them to workers, but not in threads that the block starts. A loop within
    a loop is shown at the end of the outer bar. Results stay as they are.

    Raises
    ------
    ImportError
        If tqdm is not installed; ``pip install "skbench[notebook]"`` adds it, and ipywidgets.

    Notes
    -----
    A notebook with ipywidgets draws a bar; without them, and on a terminal, tqdm prints one on
    stderr. An error or an interrupt inside the block closes the bar where it stands.

    When not to use it: for `skbench` commands, which show their own.

    Examples
    --------
    >>> from skbench import DirectEstimator, RepeatedSamplingStudy, make_items
    >>> from skbench.integrations import show_progress
    >>> study = RepeatedSamplingStudy({"direct": DirectEstimator()}, 10, n_repeats=20)
    >>> with show_progress():  # doctest: +SKIP
    ...     study.run(make_items(3, 4, 100, random_state=0).items)
    repetitions: 100%|##########| 20/20 [00:01<00:00, 16.02it/s]
    """
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError('show_progress needs tqdm: pip install "skbench[notebook]".') from error
    bar, loop = None, None

    def report(done, total, what):
        nonlocal bar, loop
        if bar is not None and what != loop and bar.total is not None:  # a loop within it
            bar.set_postfix_str(f"{what} {done}", refresh=False)
            bar.update(0)  # draws, unless it has just drawn
            return
        if bar is None or what != loop:
            close()
            bar, loop = tqdm(desc=what, total=total), what
        bar.update(done - bar.n)
        if done == total:
            bar.set_postfix_str("")
            close()

    def close():
        nonlocal bar
        if bar is not None:
            bar.close()
        bar = None

    try:
        with listening(report):
            yield
    finally:
        close()
