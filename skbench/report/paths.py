"""Files that commands read and write; no file is both, and none is written twice."""

import os
from pathlib import Path

import click

from skbench.report.terminal import DataError

_FILES = "skbench.files"  # key in the meta of click's context: paths so far with their options


class Input(click.ParamType):
    """A file or folder to read."""

    name = "file"

    def convert(self, value, param, ctx):
        """The path as it was typed."""
        _keep_distinct(value, param, ctx)
        return value


class Output(click.ParamType):
    """A file to write, which is checked before the computation."""

    name = "file"

    def __init__(self, suffixes=(), replaces=None):
        self.suffixes = suffixes
        self.replaces = replaces

    def convert(self, value, param, ctx):
        """The path as it was typed."""
        if not value or "\0" in value:
            self.fail(f"{value!r} is not a file name.", param, ctx)
        folder, wrong = Path(os.path.realpath(value)).parent, None
        is_there = os.path.exists(value)  # of /dev/stdout, the real path may not be
        if os.path.isdir(value):
            wrong = "This is a folder. Name a file in it."
        elif not is_there and not folder.is_dir():
            wrong = f"There is no folder {str(folder)!r}. Create it or name another folder."
        elif not os.access(value if is_there else folder, os.W_OK):
            what = "file" if is_there else f"folder {str(folder)!r}"
            wrong = f"The {what} is not writable. Name another one."
        if wrong is not None:
            raise DataError(f"{param.opts[-1]} {value}: {wrong}")
        if self.suffixes and Path(value).suffix.lower() not in self.suffixes:
            self.fail(f"{value!r} does not end in {', '.join(filter(None, self.suffixes))}.")
        _keep_distinct(value, param, ctx)
        return value


def file_option(name, help_text, metavar=None, suffixes=(), replaces=None):
    """An option for a file to write, with one of these suffixes.

    The file may be the one that the argument `replaces` names, which is read first.
    """
    return click.option(name, type=Output(suffixes, replaces), metavar=metavar, help=help_text)


def check_beside(path):
    """Refuse a file beside the output if the command reads or writes it already."""
    context = click.get_current_context(silent=True)
    if context is not None:
        for other, param in [pair for kind in _typed(context).values() for pair in kind]:
            _check_distinct(path, f"{path}, which the command writes", other, param)


def _typed(context):
    """Paths so far with their options or arguments, by whether they are written."""
    return context.meta.setdefault(_FILES, {True: [], False: []})


def _keep_distinct(path, param, context):
    """Refuse a file to write that is also read or written."""
    typed, is_output = _typed(context), isinstance(param.type, Output)
    for other, its in typed[True]:
        if is_output:
            _check_distinct(path, f"{param.opts[-1]} {path}", other, its)
        elif its.type.replaces != param.name or not _is_same(path, other):
            _check_distinct(other, f"{its.opts[-1]} {other}", path, param)
    for other, its in typed[False] if is_output else ():
        if param.type.replaces != its.name or not _is_same(path, other):
            _check_distinct(path, f"{param.opts[-1]} {path}", other, its)
    typed[is_output].append((path, param))


def _check_distinct(path, described, other, param):
    """Refuse a file to write if it is another file of the command or in a folder to read."""
    name = param.opts[-1] if isinstance(param, click.Option) else param.human_readable_name
    if _is_same(path, other):
        how = "written by" if isinstance(param.type, Output) else "read as"
        raise DataError(f"{described}: The file is also {how} {name}. Name another one.")
    if os.path.isdir(other):
        from skbench.readers.folders import is_read

        if is_read(path, other):
            raise DataError(
                f"{described}: The file would be read with folder {other!r} ({name}). Name a file "
                "elsewhere."
            )


def _is_same(path, other):
    if os.path.exists(path) and os.path.exists(other):
        return os.path.isfile(path) and os.path.samefile(path, other)
    return "\0" not in other and os.path.realpath(path) == os.path.realpath(other)
