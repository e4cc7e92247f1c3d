"""The command line, as ``python -m skbench``."""

from skbench.report.cli import main

if __name__ == "__main__":
    main()
