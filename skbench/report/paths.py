"""Files that commands read and write: none is both, and none is written as two."""

import os
from pathlib import Path

import click

from skbench.report.terminal import DataError

_FILES = "skbench.files"  # in the meta of click's context: what was typed so far, with its place


class Input(click.ParamType):
    """A file or folder to read, or what else may stand in its place."""

    name = "file"

    def convert(self, value, param, ctx):
        """The path as it was typed."""
        _keep_apart(value, param, ctx)
        return value


class Output(click.ParamType):
    """A file to write: where it cannot be, that is said before anything is computed."""

    name = "file"

    def __init__(self, suffixes=(), replaces=None):
        self.suffixes = suffixes
        self.replaces = replaces

    def convert(self, value, param, ctx):
        """The path as it was typed."""
        if not value or "\0" in value:
            self.fail(f"{value!r} is no name of a file.", param, ctx)
        folder, wrong = Path(os.path.realpath(value)).parent, None
        is_there = os.path.exists(value)  # of /dev/stdout, the real path may not be
        if os.path.isdir(value):
            wrong = "it is a folder. Name a file in it."
        elif not is_there and not folder.is_dir():
            wrong = f"there is no folder {str(folder)!r}. Make it first, or name another."
        elif not os.access(value if is_there else folder, os.W_OK):
            what = "file" if is_there else f"folder {str(folder)!r}"
            wrong = f"the {what} cannot be written to. Name another."
        if wrong is not None:
            raise DataError(f"{param.opts[-1]} {value}: {wrong}")
        if self.suffixes and Path(value).suffix.lower() not in self.suffixes:
            self.fail(f"{value!r} does not end in {', '.join(filter(None, self.suffixes))}.")
        _keep_apart(value, param, ctx)
        return value


def file_option(name, help_text, metavar=None, suffixes=(), replaces=None):
    """An option that names a file to write, which ends in one of these.

    It may be the very file that the argument `replaces` names, which is read before.
    """
    return click.option(name, type=Output(suffixes, replaces), metavar=metavar, help=help_text)


def check_beside(path):
    """Refuse a file that a command writes of its own accord, if it is read or written already."""
    context = click.get_current_context(silent=True)
    if context is not None:
        for other, param in [pair for kind in _typed(context).values() for pair in kind]:
            _check_apart(path, f"{path}, which the command writes", other, param)


def _typed(context):
    """Paths so far, each with its option or argument, by whether they are written."""
    return context.meta.setdefault(_FILES, {True: [], False: []})


def _keep_apart(path, param, context):
    """Refuse a file to write that is read or written as well, when the second of them is typed."""
    typed, is_output = _typed(context), isinstance(param.type, Output)
    for other, its in typed[True]:
        if is_output:
            _check_apart(path, f"{param.opts[-1]} {path}", other, its)
        elif its.type.replaces != param.name or not _is_same(path, other):
            _check_apart(other, f"{its.opts[-1]} {other}", path, param)
    for other, its in typed[False] if is_output else ():
        if param.type.replaces != its.name or not _is_same(path, other):
            _check_apart(path, f"{param.opts[-1]} {path}", other, its)
    typed[is_output].append((path, param))


def _check_apart(path, told, other, param):
    """Refuse a file to write, `told` in words, that is another one or is read in that folder."""
    name = param.opts[-1] if isinstance(param, click.Option) else param.human_readable_name
    if _is_same(path, other):
        how = "written by" if isinstance(param.type, Output) else "read as"
        raise DataError(f"{told}: this file is {how} {name}, too. Name another.")
    if os.path.isdir(other):
        from skbench.readers.folders import is_read

        if is_read(path, other):
            raise DataError(
                f"{told}: all results in the folder {other!r} are read as {name}, and this file "
                "would be one of them. Name one elsewhere."
            )


def _is_same(path, other):
    if os.path.exists(path) and os.path.exists(other):
        return os.path.isfile(path) and os.path.samefile(path, other)
    return "\0" not in other and os.path.realpath(path) == os.path.realpath(other)
