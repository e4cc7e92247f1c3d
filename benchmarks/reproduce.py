"""The tables and figures of papers, beside what comes out here.

    python benchmarks/reproduce.py f24|l24|euroeval|h24|cse|bank [--doc]

f24: Fogliato, Patil, Akpinar and Monfort (2024). l24: Longjohn, Gopalan and Casleton (2024).
euroeval: the leaderboards of April 2026. h24: Hofer et al. (2024). cse: the report on clustered
standard errors. bank: tinyBenchmarks and others on few items with earlier models. Every table
has the columns paper, here, and why they differ; rows that no public data allow are listed with
the reason. ``--doc`` writes them where the documentation includes them. The data are read from
$SKBENCH_DATA or ../shared/data, where each module in ``benchmarks/reproduced`` says which files;
``python benchmarks/reproduce.py f24 --help`` has the options of one paper.
"""

import argparse
from importlib import import_module

from reproduced import ROOT, as_rst, printed

PAPERS = ("f24", "l24", "euroeval", "h24", "cse", "bank")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="paper", required=True)
    modules = {}
    for name in PAPERS:
        modules[name] = import_module(f"reproduced.{name}")
        command = commands.add_parser(name, description=modules[name].__doc__.split("\n")[0])
        command.add_argument("--doc", action="store_true", help="write the page's tables")
        modules[name].add_arguments(command)
    arguments = parser.parse_args()
    tables = modules[arguments.paper].tables(arguments)
    print("\n".join(printed(table) for table in tables))
    if arguments.doc:
        options = "penalties" if getattr(arguments, "penalties", False) else arguments.paper
        path = ROOT / "doc" / "user_guide" / f"reproduced_{options}.inc"
        path.write_text("\n".join(as_rst(table) for table in tables))
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
