"""What cannot be read: refused with its place, or skipped and counted."""


class BadLines:
    """Refuses bad lines, or skips and counts them.

    Parameters
    ----------
    skip : bool
        Count instead of raising.
    """

    def __init__(self, skip=False):
        self.skip = skip
        self._skipped = {}

    def refuse(self, path, line, reason):
        """Raise a ValueError that names file, line and reason, or count it.

        Parameters
        ----------
        path : path-like
        line : int or str
            Number of the line, or what takes its place: a sample, a member.
        reason : str or Exception
            A KeyError names the field that is missing.
        """
        if isinstance(reason, KeyError):
            reason = f"has no field {reason}"
        place = f"line {line}" if isinstance(line, int) else line
        if not self.skip:
            raise ValueError(
                f"{str(path)!r}, {place}: {reason}. Mend or remove it, or pass "
                f"skip_bad_lines=True (--skip-bad-lines) to go on without it."
            )
        self._skipped.setdefault(str(path), []).append(f"{place}: {reason}")

    def add(self, other):
        """Count what others skipped, too.

        Parameters
        ----------
        other : BadLines
        """
        for path, reasons in other._skipped.items():
            self._skipped.setdefault(path, []).extend(reasons)

    def notes(self):
        """One sentence per file, with the number of skipped lines and the first of them."""
        return [
            f"{path!r}: skipped {len(reasons)} bad line{'s' * (len(reasons) > 1)} "
            f"({'first ' * (len(reasons) > 1)}{reasons[0]})"
            for path, reasons in self._skipped.items()
        ]
