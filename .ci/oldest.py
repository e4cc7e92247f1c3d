"""Print the oldest versions allowed by setup.cfg as a constraints file for pip.

python .ci/oldest.py > oldest.txt && python -m pip install ".[test,scale]" -c oldest.txt
"""

import configparser
import re
from pathlib import Path

# The extras for users, and the extra for tests.
EXTRAS = ["plot", "cli", "scale", "readers", "test"]


def requirements(config):
    """Return the requirements without references to other extras."""
    extras = config["options.extras_require"]
    texts = [config["options"]["install_requires"], *(extras[name] for name in EXTRAS)]
    lines = [line.strip() for text in texts for line in text.splitlines()]
    return dict.fromkeys(line for line in lines if line and not line.startswith(("%", "#")))


def oldest(requirement):
    """Return `name==version` for the lower bound of a requirement."""
    match = re.fullmatch(r"([A-Za-z0-9._-]+)>=([0-9.]+)(?:,.*)?", requirement)
    if match is None:
        raise ValueError(f"{requirement!r} in setup.cfg has no lower bound. Write name>=version.")
    return f"{match[1]}=={match[2]}"


def main():
    config = configparser.ConfigParser(interpolation=None)
    config.read(Path(__file__).parents[1] / "setup.cfg")
    print("\n".join(oldest(requirement) for requirement in requirements(config)))


if __name__ == "__main__":
    main()
