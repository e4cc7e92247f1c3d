"""Few human labels, many autorater scores: means that use both.

Names load when first used, as those of the package do.
"""

from importlib import import_module

_HOMES = {
    "arrays": ["rows_of_arrays"],
    "agreement": ["JudgeAgreement", "judge_agreement"],
    "chain_rule": ["ChainRulePPI"],
    "difference": ["ClassicalMean", "PPIMean"],
    "grouped": ["GroupedPPI"],
    "monte_carlo": ["MonteCarloPPI"],
    "parameters": ["KProportion", "Mean", "Proportion"],
    "position": ["position_bias"],
    "rogan_gladen": ["RoganGladen"],
    "stratified": ["StratifiedPPI"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name):
    if name in _HOME_OF:
        value = getattr(import_module(f"skbench.ppi.{_HOME_OF[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'skbench.ppi' has no attribute {name!r}")


def __dir__():
    return __all__
