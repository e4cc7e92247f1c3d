"""Tables, one below the other -> item rows: models named, each item once, blank scores apart."""

import re
from collections.abc import Mapping

import numpy as np

from skbench._checks import listed
from skbench._notes import LOST, ROUTINE, Note
from skbench._warnings import warn_of_memory
from skbench.items.roles import ROLES, check_exist, column_like, columns_of, field, normal
from skbench.items.totals import check_totals
from skbench.readers._exact import below_each_other, exact_labels
from skbench.readers._found import ItemRows, item_key, topic_columns
from skbench.readers._names import of_files, with_versions
from skbench.readers._repeats import with_unique_items, without_spare_blanks
from skbench.readers._tabular import read_part, taken
from skbench.readers.group_results import refuse_repeated_groups
from skbench.readers.loading import n_rows_about, readable, without_categories, without_suffixes

# What an evaluation may be run with: rows that differ in it are not of one evaluation.
_SETTINGS = (
    "shots n_shot n_shots num_fewshot fewshot few_shot mode protocol setting settings config "
    "prompt_template template prompt_version version temperature metric filter split language"
).split()

_BYTES_OF_A_ROW = 200  # in memory, while a report is made of it
_IN_FILES = (
    "In Python, skbench.summarize_items(path, by) summarizes Parquet files without holding them."
)

# What file managers add to the name of a copy.
_COPY = re.compile(r"( \(\d+\)|[ _-]+copy( \(?\d+\)?)?)$", re.IGNORECASE)


def tables_items(files, options, bad, notes):
    """`ItemRows` of all files; without a model column, each of several is a model of its name."""
    if isinstance(options.model, Mapping):
        raise ValueError("model= renames models of logs. For a table, name its model column.")
    warn_of_memory(_BYTES_OF_A_ROW * sum(map(n_rows_about, files)), _IN_FILES)
    parts = [read_part(file, options, bad) for file in files]
    if own := _shared_columns(parts, options, notes):
        bad.forget()
        parts = [read_part(file, options._replace(**own.get(file, {})), bad) for file in files]
    rows, roles, said = parts[0].rows, dict(parts[0].roles), parts[0].notes
    _refuse_copies(parts)
    for part in parts if len(parts) > 1 else ():
        if "item" in part.rows and "item" not in part.roles:
            raise ValueError(
                f"{str(part.path)!r} has no ids of items, and rows of several files are not paired "
                "by their number. Pass item= with a column of ids that all files have."
            )
    if len(parts) > 1:
        rows, roles, said = _one_below_the_other(files, parts)
    notes += said
    rows = _with_version_for_model(rows, roles, notes, options.version)
    if "model" not in rows:
        notes.append("no model column: all rows taken as one model (model=)")
    if "item" not in rows and not parts[0].of_groups:
        notes.append("no item column: models may share items or not (item=)")
    rows = _with_versions(rows, roles, notes)
    if len(parts) > 1:
        rows = _kept_apart(rows, roles, parts, notes)
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
    """File -> role -> column, where files fill a role by different columns and all have one."""
    own = {}
    for role in [role for role in ROLES if getattr(options, role) is None]:
        # In a wide file, columns of scores are models.
        have = [p for p in parts if role in p.roles and not (p.is_wide and role == "score")]
        names = {field(p.roles[role][0]): p.roles[role][0] for p in reversed(have)}
        if len(names) < 2:
            continue
        shared = [n for n in names.values() if all(column_like(n, p.columns) for p in have)]
        if shared:
            notes.append(f"{role}: column {shared[-1]!r}, as all files have it ({role}=)")
            for part in have:
                own.setdefault(part.path, {})[role] = column_like(shared[-1], part.columns)
        elif role == "score" and not have[0].of_groups:
            other = next(p for p in have if p.roles[role] != have[0].roles[role])
            raise ValueError(
                f"The scores are in column {have[0].roles[role][0]!r} of {str(have[0].path)!r}, in "
                f"{other.roles[role][0]!r} of {str(other.path)!r}, and all files have neither. "
                "Rename one, or pass score= with a column that all have."
            )
    return own


def _refuse_copies(parts):
    """Refuse a file with the rows of another, whose name, or link, says that it is its copy."""
    originals = {}
    for part in parts:
        path = part.path.parent.resolve() / without_suffixes(part.path)
        originals.setdefault(path, part)
    for part in parts:
        path = part.path.resolve()
        other = originals.get(path.with_name(_COPY.sub("", without_suffixes(path))), part)
        if other is not part and other.rows.equals(part.rows):
            raise ValueError(
                f"{str(part.path)!r} and {str(other.path)!r} hold the same rows, and one is a copy "
                "by its name, or a link. Leave it out."
            )


def _places(parts):
    """A function that gives the file and the row there of a row of all tables."""
    ends = np.cumsum([len(part.rows) for part in parts])

    def place(row):
        i = int(np.searchsorted(ends, row, side="right"))
        line = (row - (ends[i] - len(parts[i].rows))) % parts[i].n_lines
        return parts[i].path, f"row {line + 1}"

    return place


def _one_below_the_other(files, parts):
    """Rows, roles and notes of several tables."""
    first, *others = parts
    seen = [(p.roles.keys() - {"model"}, p.of_groups, "topic_in_file" in p.rows) for p in parts]
    for part, found in zip(others, seen[1:], strict=True):
        if found != seen[0]:
            raise ValueError(
                f"{str(part.path)!r} and {str(first.path)!r} do not have the same columns, or one "
                "has results of items and the other of groups. Read them one by one."
            )
    frames = [without_categories(part.rows) for part in parts]
    labels, said = _labels(files, frames)
    rows = below_each_other(
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
    notes = [f"{len(files)} tables, one below the other", *said]
    return rows, roles, notes + [note for part in parts for note in part.notes]


def _kept_apart(rows, roles, parts, notes):
    """A model whose items several files hold, with other scores, is a model in each file."""
    of_file = np.repeat(np.arange(len(parts)), [len(part.rows) for part in parts])
    key = item_key(rows, topic_columns(roles.get("topic", [])))
    keys = ["model", *key, *columns_of("attempt", rows)]
    if "item" not in rows:
        return rows
    cells = rows[keys].assign(file=of_file).drop_duplicates()
    several = cells["model"][cells.duplicated(keys)].unique()
    affected = rows["model"].isin(several)
    if not rows[affected].drop_duplicates([*keys, "score"]).duplicated(keys).any():
        return rows  # none, or copies, which are refused as items that repeat
    files = np.array(of_files([part.path for part in parts], ()), dtype=object)[of_file]
    names = rows["model"].astype(str) + " (" + files + ")"
    notes.append(
        f"several files hold the same items of {listed(several, 4)}: each is a model, "
        f"{listed(names[affected].unique(), 6)}"
    )
    return rows.assign(model=rows["model"].astype(object).mask(affected, names))


def _labels(files, frames):
    """The model, and maybe the topic, of each file that has no such column; and what to report."""
    nameless = [i for i, frame in enumerate(frames) if "model" not in frame]
    labels = [{} for _ in files]
    if not nameless:
        return labels, []
    if len(nameless) == len(files) and (grid := _grid(files, frames)) is not None:
        models, topics, what, other = grid
        labels = [{"model": m, "topic": t} for m, t in zip(models, topics, strict=True)]
        also = "" if all("topic" in frame for frame in frames) else f", {other}s the topics"
        return labels, [
            f"no model column: {what}s are the models ({listed(dict.fromkeys(models), 6)}){also}"
        ]
    named = {str(m) for frame in frames if "model" in frame for m in frame["model"].unique()}
    names = of_files([files[i] for i in nameless], named)
    for i, name in zip(nameless, names, strict=True):
        labels[i] = {"model": name}
    return labels, [
        f"no model column: each file is one model, named for it: {listed(names, most=6)} (model=)"
    ]


def _grid(files, frames):
    """Models and topics where files of the same names stand in several folders, else None."""
    names = [without_suffixes(readable(file)) for file in files]
    folders = [readable(file).parent.name for file in files]
    n_names, n_folders = len(set(names)), len(set(folders))
    complete = len(files) == len(set(zip(folders, names, strict=True))) == n_names * n_folders
    if not complete or min(n_names, n_folders) < 2:
        return None
    # Files of the same items are of one topic. Where that does not decide, a folder is a model.
    by_name, by_folder = (_same_items(key, frames) for key in (names, folders))
    if by_folder and not by_name:
        return names, folders, "file name", "folder"
    return folders, names, "folder", "file name"


def _same_items(keys, frames):
    """Whether files of one key hold the same items."""
    items = {}
    for key, frame in zip(keys, frames, strict=True):
        own = tuple(frame["item"]) if "item" in frame else len(frame)
        items.setdefault(key, set()).add(own)
    return all(len(found) == 1 for found in items.values())


def _with_version_for_model(rows, roles, notes, version):
    """Where no column tells models apart, versions are the models."""
    if version not in (None, "version"):
        check_exist([version], rows.columns, "order=")
    several = "model" in rows and rows["model"].nunique() > 1
    usual = "model" in rows and version in columns_of("version", rows)  # see `_with_versions`
    if version not in rows or several or usual:
        return rows
    roles["model"] = [version]
    notes.append(Note(f"model: column {version!r}", ROUTINE))
    return rows.assign(model=exact_labels(rows[version]))


def _with_versions(rows, roles, notes):
    """Models named with their version, where one has several."""
    column = next((c for c in columns_of("version", rows) if c not in taken(roles)), None)
    if column is None or "model" not in rows:
        return rows
    pairs = list(zip(rows["model"], rows[column].astype(object).fillna(""), strict=True))
    names = with_versions(pairs)
    if all(model == name for (model, _), name in names.items()):
        return rows
    notes.append(f"models in several versions, told apart by {column!r}: each is a model")
    return rows.assign(model=[names[pair] for pair in pairs])


def _refuse_two_settings(rows, topics):
    """Without names of items nothing else shows that a group was evaluated twice."""
    keys = [name for name in ("model", *topics) if name in rows]
    settings = [name for name in rows.columns.difference([*keys, *ROLES], sort=False)]
    for name in settings if "item" not in rows else []:
        levels = rows.groupby(keys, observed=True)[name] if keys else rows[name]
        if normal(name) in _SETTINGS and np.max(levels.nunique()) > 1:
            raise ValueError(
                f"Rows of one model and topic differ in {name!r} "
                f"({listed(rows[name].dropna().unique(), most=4)}), so they are not items of one "
                f"evaluation. Pass topic={[*topics, name]!r} or model={name!r} to keep them apart, "
                "or leave out all but one."
            )


def _report_blanks(rows, notes):
    n_blank = int(rows["score"].isna().sum())
    if n_blank == len(rows):
        raise ValueError("All scores are blank, so there is nothing to estimate.")
    if n_blank:
        text = f"{n_blank} of {len(rows)} scores are blank: dropped, not counted as wrong"
        notes.append(Note(text, LOST))
