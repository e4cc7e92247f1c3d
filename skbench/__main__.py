"""Command line interface, run by ``python -m skbench``."""

from skbench.report.cli import main

if __name__ == "__main__":
    main()
