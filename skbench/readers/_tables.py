"""Concatenate tables into item rows: name the models, check the items, separate missing scores."""

import re
from collections.abc import Mapping

import numpy as np

from skbench._checks import listed
from skbench._notes import LOST, ROUTINE, Note
from skbench._warnings import warn_of_memory
from skbench.items.roles import ROLES, check_exist, column_like, columns_of, field, normal
from skbench.items.totals import check_totals
from skbench.readers._exact import concatenated, exact_labels
from skbench.readers._found import ItemRows, item_key, topic_columns
from skbench.readers._names import of_files, with_versions
from skbench.readers._repeats import with_unique_items, without_spare_blanks
from skbench.readers._tabular import read_part, taken
from skbench.readers.group_results import refuse_repeated_groups
from skbench.readers.loading import n_rows_about, readable, without_categories, without_suffixes

# Settings of an evaluation: rows with different settings belong to different evaluations.
_SETTINGS = (
    "shots n_shot n_shots num_fewshot fewshot few_shot mode protocol setting settings config "
    "prompt_template template prompt_version version temperature metric filter split language"
).split()

_BYTES_OF_A_ROW = 200  # in memory, while a report is made of it
_IN_FILES = (
    "In Python, skbench.summarize_items(path, by) summarizes Parquet files without loading them."
)

# What file managers add to the name of a copy.
_COPY = re.compile(r"( \(\d+\)|[ _-]+copy( \(?\d+\)?)?)$", re.IGNORECASE)


def tables_items(files, options, bad, notes):
    """Return `ItemRows` of all files. A file without a model column is one model."""
    if isinstance(options.model, Mapping):
        raise ValueError("model= renames models of logs only. For a table, name its model column.")
    warn_of_memory(_BYTES_OF_A_ROW * sum(map(n_rows_about, files)), _IN_FILES)
    parts = [read_part(file, options, bad) for file in files]
    if own := _shared_columns(parts, options, notes):
        bad.reset()
        parts = [read_part(file, options._replace(**own.get(file, {})), bad) for file in files]
    rows, roles, more_notes = parts[0].rows, dict(parts[0].roles), parts[0].notes
    _refuse_copies(parts)
    for part in parts if len(parts) > 1 else ():
        if "item" in part.rows and "item" not in part.roles:
            raise ValueError(
                f"{str(part.path)!r} has no item ids, and the row number does not pair rows of "
                "several files. Pass item= with an id column that all files have."
            )
    if len(parts) > 1:
        rows, roles, more_notes = _concatenated(files, parts)
    notes += more_notes
    rows = _with_version_for_model(rows, roles, notes, options.version)
    if "model" not in rows:
        notes.append("no model column, so all rows belong to one model (name it with model=)")
    if "item" not in rows and not parts[0].of_groups:
        notes.append("no item column, so models are not paired by item (name it with item=)")
    rows = _with_versions(rows, roles, notes)
    if len(parts) > 1:
        rows = _separated_by_file(rows, roles, parts, notes)
    topics = topic_columns(roles.get("topic", []))
    if parts[0].of_groups:
        refuse_repeated_groups(rows, topics, roles.get("topic", []))
        found = ItemRows(rows, {}, notes, groups=rows)
        right = rows["k"] if "k" in rows else (rows["score"] * rows.get("n", np.nan)).round()
        totals = check_totals(rows.assign(k=right), topics, ("n", "k")) if "n" in rows else []
    else:
        _refuse_two_settings(rows, topics)
        _report_blanks(rows, notes)
        rows = without_spare_blanks(rows, topics)
        totals = check_totals(rows, topics)
        place = _places(parts)
        rows = with_unique_items(rows, roles, notes, place, bad)
        missing = rows["score"].isna()
        blank = rows[missing].drop(columns="score")
        rows = rows[~missing].reset_index(drop=True) if missing.any() else rows
        found = ItemRows(rows, {}, notes, blank=blank)
    columns = {role: names[0] if len(names) == 1 else names for role, names in roles.items()}
    return found._replace(columns=columns, notes=notes + totals, doubts=totals)


def _shared_columns(parts, options, notes):
    """Return file -> role -> column that all files have, if they would use different ones."""
    own = {}
    for role in [role for role in ROLES if getattr(options, role) is None]:
        # In a wide file, the score columns are models.
        have = [p for p in parts if role in p.roles and not (p.is_wide and role == "score")]
        names = {field(p.roles[role][0]): p.roles[role][0] for p in reversed(have)}
        if len(names) < 2:
            continue
        shared = [n for n in names.values() if all(column_like(n, p.columns) for p in have)]
        if shared:
            notes.append(
                f"column {shared[-1]!r}, which all files have, is the {role} (choose with {role}=)"
            )
            for part in have:
                own.setdefault(part.path, {})[role] = column_like(shared[-1], part.columns)
        elif role == "score" and not have[0].of_groups:
            other = next(p for p in have if p.roles[role] != have[0].roles[role])
            raise ValueError(
                f"The score is column {have[0].roles[role][0]!r} in {str(have[0].path)!r} but "
                f"{other.roles[role][0]!r} in {str(other.path)!r}. Rename one, or pass score= "
                "with a column that all files have."
            )
    return own


def _refuse_copies(parts):
    """Raise if a file has the rows of another and is, by name or link, a copy of it."""
    originals = {}
    for part in parts:
        path = part.path.parent.resolve() / without_suffixes(part.path)
        originals.setdefault(path, part)
    for part in parts:
        path = part.path.resolve()
        other = originals.get(path.with_name(_COPY.sub("", without_suffixes(path))), part)
        if other is not part and other.rows.equals(part.rows):
            raise ValueError(
                f"{str(part.path)!r} and {str(other.path)!r} contain the same rows, and one is a "
                "copy by its name or a link. Remove the copy."
            )


def _places(parts):
    """Return a function from a row of all tables to its file and its row there."""
    ends = np.cumsum([len(part.rows) for part in parts])

    def place(row):
        i = int(np.searchsorted(ends, row, side="right"))
        line = (row - (ends[i] - len(parts[i].rows))) % parts[i].n_lines
        return parts[i].path, f"row {line + 1}"

    return place


def _concatenated(files, parts):
    """Return the rows, roles and notes of several tables."""
    first, *others = parts
    seen = [(p.roles.keys() - {"model"}, p.of_groups, "topic_in_file" in p.rows) for p in parts]
    for part, found in zip(others, seen[1:], strict=True):
        if found != seen[0]:
            raise ValueError(
                f"{str(part.path)!r} and {str(first.path)!r} have different columns, or one has "
                "results per item and the other per group. Read them separately."
            )
    frames = [without_categories(part.rows) for part in parts]
    labels, more_notes = _labels(files, frames)
    rows = concatenated(
        [
            frame.assign(**{name: value for name, value in own.items() if name not in frame})
            for own, frame in zip(labels, frames, strict=True)
        ]
    )
    roles = {"model": ["model"], **first.roles}
    if "topic" not in roles and "topic" in rows:
        roles["topic"] = ["topic"]
    order = [name for name in ("model", "topic") if name in rows]
    rows = rows[[*order, *rows.columns.difference(order, sort=False)]]
    for name in {*roles, *roles.get("topic", [])} - {"score"}:
        if name in rows:
            rows[name] = exact_labels(rows[name])
    notes = [Note(f"tables: {len(files)} files", ROUTINE), *more_notes]
    return rows, roles, notes + [note for part in parts for note in part.notes]


def _separated_by_file(rows, roles, parts, notes):
    """Make a model per file of a model whose items have different scores in several files."""
    of_file = np.repeat(np.arange(len(parts)), [len(part.rows) for part in parts])
    key = item_key(rows, topic_columns(roles.get("topic", [])))
    keys = ["model", *key, *columns_of("attempt", rows)]
    if "item" not in rows:
        return rows
    cells = rows[keys].assign(file=of_file).drop_duplicates()
    several = cells["model"][cells.duplicated(keys)].unique()
    affected = rows["model"].isin(several)
    if not rows[affected].drop_duplicates([*keys, "score"]).duplicated(keys).any():
        return rows  # none, or copies, which raise an error as repeated items
    files = np.array(of_files([part.path for part in parts], ()), dtype=object)[of_file]
    names = rows["model"].astype(str) + " (" + files + ")"
    notes.append(
        f"several files contain the same items of {listed(several, 4)}, so each file is a model: "
        f"{listed(names[affected].unique(), 6)}"
    )
    return rows.assign(model=rows["model"].astype(object).mask(affected, names))


def _labels(files, frames):
    """Return the model, and perhaps the topic, of each file without such a column, and notes."""
    unnamed = [i for i, frame in enumerate(frames) if "model" not in frame]
    labels = [{} for _ in files]
    if not unnamed:
        return labels, []
    if len(unnamed) == len(files) and (grid := _grid(files, frames)) is not None:
        models, topics, what, other = grid
        labels = [{"model": m, "topic": t} for m, t in zip(models, topics, strict=True)]
        also = "" if all("topic" in frame for frame in frames) else f"; {other}s are the topics"
        return labels, [
            f"no model column, so {what}s are the models ({listed(dict.fromkeys(models), 6)}){also}"
        ]
    named = {str(m) for frame in frames if "model" in frame for m in frame["model"].unique()}
    names = of_files([files[i] for i in unnamed], named)
    for i, name in zip(unnamed, names, strict=True):
        labels[i] = {"model": name}
    return labels, [
        f"no model column, so each file is a model: {listed(names, most=6)} (choose with model=)"
    ]


def _grid(files, frames):
    """Return models and topics if several folders contain files of the same names, else None."""
    names = [without_suffixes(readable(file)) for file in files]
    folders = [readable(file).parent.name for file in files]
    n_names, n_folders = len(set(names)), len(set(folders))
    complete = len(files) == len(set(zip(folders, names, strict=True))) == n_names * n_folders
    if not complete or min(n_names, n_folders) < 2:
        return None
    # Files with the same items share a topic. If that does not decide, a folder is a model.
    by_name, by_folder = (_same_items(key, frames) for key in (names, folders))
    if by_folder and not by_name:
        return names, folders, "file name", "folder"
    return folders, names, "folder", "file name"


def _same_items(keys, frames):
    """Return whether files with the same key contain the same items."""
    items = {}
    for key, frame in zip(keys, frames, strict=True):
        own = tuple(frame["item"]) if "item" in frame else len(frame)
        items.setdefault(key, set()).add(own)
    return all(len(found) == 1 for found in items.values())


def _with_version_for_model(rows, roles, notes, version):
    """Use versions as models if no column has several models."""
    if version not in (None, "version"):
        check_exist([version], rows.columns, "order=")
    several = "model" in rows and rows["model"].nunique() > 1
    usual = "model" in rows and version in columns_of("version", rows)  # see `_with_versions`
    if version not in rows or several or usual:
        return rows
    roles["model"] = [version]
    notes.append(Note(f"column {version!r} is the model", ROUTINE))
    return rows.assign(model=exact_labels(rows[version]))


def _with_versions(rows, roles, notes):
    """Add the version to the names of models if a model has several."""
    column = next((c for c in columns_of("version", rows) if c not in taken(roles)), None)
    if column is None or "model" not in rows:
        return rows
    pairs = list(zip(rows["model"], rows[column].astype(object).fillna(""), strict=True))
    names = with_versions(pairs)
    if all(model == name for (model, _), name in names.items()):
        return rows
    notes.append(f"each version of a model (column {column!r}) counts as a model")
    return rows.assign(model=[names[pair] for pair in pairs])


def _refuse_two_settings(rows, topics):
    """Raise if rows of a group have different settings and there are no item ids."""
    keys = [name for name in ("model", *topics) if name in rows]
    settings = [name for name in rows.columns.difference([*keys, *ROLES], sort=False)]
    for name in settings if "item" not in rows else []:
        levels = rows.groupby(keys, observed=True)[name] if keys else rows[name]
        if normal(name) in _SETTINGS and np.max(levels.nunique()) > 1:
            raise ValueError(
                f"Rows of one model and topic have different values of {name!r} "
                f"({listed(rows[name].dropna().unique(), most=4)}), so they are not from one "
                f"evaluation. Pass topic={[*topics, name]!r} or model={name!r} to separate them, "
                "or keep only one value."
            )


def _report_blanks(rows, notes):
    n_blank = int(rows["score"].isna().sum())
    if n_blank == len(rows):
        raise ValueError("All scores are missing, so there is nothing to estimate.")
    if n_blank:
        text = f"dropped {n_blank} of {len(rows)} rows with missing scores (not counted as wrong)"
        notes.append(Note(text, LOST))
