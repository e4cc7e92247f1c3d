"""Reproducible archives and absolute links of the README, which setup.cfg cannot express."""

import configparser
import gzip
import os
import re
import tarfile
from pathlib import Path

from setuptools import setup
from setuptools.command.sdist import sdist

ROOT = Path(__file__).parent
# setuptools uses this date for wheels, and the file modes from the umask.
DATE = int(os.environ.setdefault("SOURCE_DATE_EPOCH", "1580601600"))
os.umask(0o022)


class SameSdist(sdist):
    """An sdist that is independent of time, user and file modes."""

    def make_archive(self, *args, **kwargs):
        path = Path(super().make_archive(*args, **kwargs))
        made = path.rename(path.with_suffix(".made"))
        with (
            tarfile.open(made) as old,
            open(path, "wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=DATE) as packed,
            tarfile.open(fileobj=packed, mode="w") as new,
        ):
            for member in sorted(old, key=lambda member: member.name):
                content = old.extractfile(member) if member.isfile() else None
                same = tarfile.TarInfo(member.name)
                same.size, same.type, same.mtime = member.size, member.type, DATE
                same.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
                new.addfile(same, content)
        made.unlink()
        return str(path)


def long_description():
    """Return the README with absolute links to the files of this version."""
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    code = (ROOT / "skbench" / "__init__.py").read_text(encoding="utf-8")
    version = re.search('__version__ = "(.+)"', code)[1]

    url = config["metadata"]["url"]

    def absolute(match):
        if match[1].startswith("../../"):  # relative to the repository page
            return f"]({url}/{match[1].removeprefix('../../')})"
        return f"]({url}/{'raw' if match[1].endswith('.png') else 'blob'}/v{version}/{match[1]})"

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.sub(r"\]\(((?!https?:|#)[^)]+)\)", absolute, readme)


setup(long_description=long_description(), cmdclass={"sdist": SameSdist})
