"""The names of this room, for type checkers."""

from skbench.ppi.agreement import (
    JudgeAgreement as JudgeAgreement,
    judge_agreement as judge_agreement,
)
from skbench.ppi.arrays import rows_of_arrays as rows_of_arrays
from skbench.ppi.chain_rule import ChainRulePPI as ChainRulePPI
from skbench.ppi.difference import ClassicalMean as ClassicalMean, PPIMean as PPIMean
from skbench.ppi.grouped import GroupedPPI as GroupedPPI
from skbench.ppi.monte_carlo import MonteCarloPPI as MonteCarloPPI
from skbench.ppi.parameters import (
    KProportion as KProportion,
    Mean as Mean,
    Proportion as Proportion,
)
from skbench.ppi.position import position_bias as position_bias
from skbench.ppi.rogan_gladen import RoganGladen as RoganGladen
from skbench.ppi.stratified import StratifiedPPI as StratifiedPPI
