"""Names of models: by version, run or file, or as the caller renames them."""

import os

from skbench._checks import listed
from skbench.readers.loading import n_shared, readable, without_suffixes

_LONGEST_VERSION = 60  # letters in the name of a model


def with_versions(pairs):
    """Return a name for each (model, version). It contains the version if there are several."""
    pairs = list(dict.fromkeys(pairs))
    models = [model for model, _ in pairs]
    short = _in_a_line(dict.fromkeys(version for _, version in pairs))
    return {
        (model, version): f"{model} | {short[version]}" if models.count(model) > 1 else model
        for model, version in pairs
    }


def _in_a_line(versions):
    """Shorten each version to one line, and number equal lines."""
    by_line = {}
    for version in versions:
        line = " ".join(str(version).split())
        if len(line) > _LONGEST_VERSION:
            line = line[: _LONGEST_VERSION - 3] + "..."
        by_line.setdefault(line, []).append(version)
    return {
        version: f"{line} ({number})" if len(same) > 1 else line
        for line, same in by_line.items()
        for number, version in enumerate(same, start=1)
    }


def of_runs(logs, notes):
    """Return a name per log: the recorded one, unless different models have it."""
    known = with_versions((log.run.model, log.run.version) for log in logs)
    versions = len(known) > len({model for model, _ in known})
    if versions:
        notes.append("each version or prompt of a model counts as a model")
    by_name = {}
    for log in logs:
        name = known[log.run.model, log.run.version]
        by_name.setdefault(name, {}).setdefault(log.name, []).append(log)
    names, joined = {}, []
    for name, runs in by_name.items():
        if any(log.run.invented for run in runs.values() for log in run):
            notes.append(
                f"the logs do not name their model, so it is called {name!r} (rename with "
                f"model={{{name!r}: ...}})"
            )
        difference = _difference(runs)
        labels = dict.fromkeys(runs, name)
        if difference:
            labels = {run: f"{name} ({label})" for run, label in _short(list(runs)).items()}
            notes.append(
                f"{len(runs)} runs with model {name!r} {difference}, so they count as the models "
                f"{listed(labels.values(), most=6)} (rename with model={{'OLD': 'NEW'}})"
            )
        elif len(runs) > 1:
            joined.append(f"{name} ({len(runs)})")
        names |= {id(log): labels[run] for run, some in runs.items() for log in some}
    if joined:
        notes.append(
            f"runs with the same model and settings but different topics count as one model: "
            f"{listed(joined, most=6)}"
        )
    return [names[id(log)] for log in logs]


def _difference(runs):
    """Return why runs with one name are different models, or an empty text."""
    logs = [log for run in runs.values() for log in run]
    topics = {(log.run.topic, run) for run, some in runs.items() for log in some}
    if len({topic for topic, _ in topics}) < len(topics):
        return "answer the same topics"
    return "have different settings" * (len({log.run.settings for log in logs}) > 1)


def _short(runs):
    """Return the names of runs without the folders that all share."""
    parts = [run.split("/") for run in runs]
    shared = n_shared(parts)
    return {run: "/".join(p[shared:]) for run, p in zip(runs, parts, strict=True)}


def renamed(names, model):
    """Replace names of models by those of the caller."""
    if model is None:
        return names
    known = list(dict.fromkeys(names))
    if isinstance(model, str):
        if len(known) > 1:
            raise ValueError(
                f"model={model!r} names one model, but the logs contain {len(known)}: "
                f"{listed(known)}. Pass model={{{known[0]!r}: {model!r}}}."
            )
        model = {known[0]: model}
    unknown = [name for name in model if name not in known]
    if unknown:
        raise ValueError(
            f"model= renames {unknown[0]!r}, but the logs contain only {listed(known)}."
        )
    return [model.get(name, name) for name in names]


def of_files(files, taken):
    """Return the shortest unique names of files: the file name, its folders, or both."""
    whole = [readable(os.path.abspath(file)) for file in files]
    parts = [path.with_name(without_suffixes(path)).parts for path in whole]
    candidates = (
        [path[-1] for path in parts],
        _without_shared_parts(parts),
        _without_shared_parts([path.parts for path in whole]),
    )
    return next(
        (names for names in candidates if len({*names, *taken}) == len(names) + len(taken)),
        [str(path) for path in whole],
    )


def _without_shared_parts(paths):
    paths = [path[n_shared(paths) :] for path in paths]
    n_last = n_shared([path[::-1] for path in paths])
    return ["/".join(path[: len(path) - n_last]) for path in paths]
