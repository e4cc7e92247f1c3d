"""Progress bars of long loops, in notebooks and on terminals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from skbench._progress import listening


@contextmanager
def show_progress() -> Iterator[None]:
    """Show a progress bar for every long loop inside the block.

    Bars count repetitions of a study, splits, earlier models and steps of a mixed model. They
    also count work of ``n_jobs`` workers, but not of threads that the block starts. An inner loop
    is shown at the end of the outer bar. Results do not change.

    Raises
    ------
    ImportError
        If tqdm is not installed. ``pip install "skbench[notebook]"`` installs it and ipywidgets.

    Notes
    -----
    With ipywidgets, a notebook shows a graphical bar. Otherwise tqdm prints a bar on stderr. An
    error or an interrupt inside the block closes the bar.

    When not to use it: `skbench` commands show their own progress.

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
        if bar is not None and what != loop and bar.total is not None:  # an inner loop
            bar.set_postfix_str(f"{what} {done}", refresh=False)
            bar.update(0)  # redraws at most every tenth of a second
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
