"""Tables and figures of papers next to the results of skbench.

    python benchmarks/reproduce.py all|f24|l24|euroeval|h24|cse|bank [--doc]

f24: Fogliato, Patil, Akpinar and Monfort (2024). l24: Longjohn, Gopalan and Casleton (2024).
euroeval: the leaderboards of April 2026. h24: Hofer et al. (2024). cse: the report on clustered
standard errors. bank: tinyBenchmarks and other work on few items with earlier models. all: every
paper with its defaults. Every table has the columns paper, here, difference (here minus paper) and
why. Rows without public data are listed with the reason. Quoted numbers come from
``benchmarks/reproduced/quoted.csv``. ``--doc`` writes the tables and plots of the documentation.
The data folder is $SKBENCH_DATA or ../shared/data; each module in ``benchmarks/reproduced`` lists
its files. ``python benchmarks/reproduce.py f24 --help`` shows the options of one paper.
"""

import argparse
from importlib import import_module

from reproduced import ROOT, as_rst, printed

PAPERS = ("cse", "euroeval", "l24", "h24", "bank", "f24")  # the quick ones first


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="paper", required=True)
    modules = {name: import_module(f"reproduced.{name}") for name in PAPERS}
    for name in ("all", *PAPERS):
        about = modules[name].__doc__.split("\n")[0] if name in modules else "All papers."
        command = commands.add_parser(name, help=about, description=about)
        command.add_argument("--doc", action="store_true", help="write the page's tables, pictures")
        if name in modules:
            modules[name].add_arguments(command)
    arguments = parser.parse_args()
    failed = []
    for name in PAPERS if arguments.paper == "all" else (arguments.paper,):
        own = [name, *(["--doc"] if arguments.doc else [])]
        options = parser.parse_args(own) if arguments.paper == "all" else arguments
        try:
            reproduce(modules[name], options)
        except FileNotFoundError as error:
            failed.append(f"{name}: {error}. Set SKBENCH_DATA to the folder of the public data.")
    if failed:
        parser.exit(1, "\n".join([*failed, ""]))


def reproduce(module, arguments):
    """Print each table as soon as it is there; with ``--doc``, write all of them, too."""
    tables = []
    for table in module.tables(arguments):
        print(printed(table), flush=True)
        tables.append(as_rst(table))
    if arguments.doc:
        path = ROOT / "doc" / "user_guide" / f"reproduced_{arguments.paper}.inc"
        path.write_text("\n".join(tables))
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
