"""The modules of formulas by their own names, for type checkers."""

from skbench.stats import (
    clusters as clusters,
    intervals as intervals,
    item_response as item_response,
    mixed as mixed,
    ppi as ppi,
    ranking as ranking,
    resampling as resampling,
    scales as scales,
    sequential as sequential,
    shrinkage as shrinkage,
)
from skbench.stats.clusters import (
    agreement as agreement,
    clustered as clustered,
    item_correlation as item_correlation,
    paired as paired,
    shared_items as shared_items,
)
from skbench.stats.intervals import (
    binomial as binomial,
    classification as classification,
    finite_population as finite_population,
    group_means as group_means,
    means as means,
    mixtures as mixtures,
    moderated as moderated,
    moments as moments,
    posterior as posterior,
    worst_case as worst_case,
)
from skbench.stats.item_response import (
    assisted as assisted,
    audit as audit,
    easiness as easiness,
    sampling as sampling,
    unit_level as unit_level,
    unit_prediction as unit_prediction,
)
from skbench.stats.mixed import covariances as covariances
from skbench.stats.ppi import (
    calibration as calibration,
    chain_rule as chain_rule,
    posteriors as posteriors,
    strata as strata,
)
from skbench.stats.ranking import (
    bradley_terry as bradley_terry,
    frontier as frontier,
    kemeny as kemeny,
    multiplicity as multiplicity,
    noninferiority as noninferiority,
    power as power,
    rank_scores as rank_scores,
    rank_sets as rank_sets,
    trend as trend,
)
from skbench.stats.resampling import (
    beta_binomial as beta_binomial,
    confusion as confusion,
    dirichlet_multinomial as dirichlet_multinomial,
    markov_chains as markov_chains,
    repeats as repeats,
)
from skbench.stats.scales import aggregation as aggregation
from skbench.stats.sequential import (
    betting as betting,
    truncated_binomial as truncated_binomial,
)
from skbench.stats.shrinkage import (
    fab as fab,
    fay_herriot as fay_herriot,
    risk as risk,
    robust_eb as robust_eb,
    sample_size as sample_size,
    stein as stein,
)
