"""Reading many files at once, with the result of reading them one by one."""

from joblib import Parallel, delayed

from skbench.readers._bad_lines import BadLines

_WORTH = 2**30  # bytes, three seconds of reading: other processes take one to start


def each_file(read, paths, options, bad):
    """What `read` makes of each file, in the order of the files.

    Parameters
    ----------
    read : callable
        ``read(path, options, bad)``, a function of a module: it runs in other processes.
    paths : list of Path
    options : Options
        `n_jobs` says how many processes.
    bad : BadLines

    Yields
    ------
    object
        What `read` returned. Of several files that cannot be read, the first is refused.
    """
    found = (_one(read, path, options, bad.skip) for path in paths)
    if sum(path.stat().st_size for path in paths) >= _WORTH:
        tasks = (delayed(_one)(read, path, options, bad.skip) for path in paths)
        found = Parallel(n_jobs=options.n_jobs)(tasks)
    for value, error, skipped in found:
        if error is not None:
            raise error
        bad.add(skipped)
        yield value


def _one(read, path, options, skip):
    """The result, the error in its place, and the lines that were skipped."""
    bad = BadLines(skip)
    try:
        return read(path, options, bad), None, bad
    except ValueError as error:
        return None, error, bad
