"""XGBoost's booster for tables whose columns have no names."""

import xgboost


class NamelessBooster(xgboost.Booster):
    """A booster that does not ask for names of columns before each tree, of which arrays have none.

    Asking takes a fifth of the time of a small tree. The method is none of XGBoost's public ones:
    without it trees are the same, and slower.
    """

    def _assign_dmatrix_features(self, data):
        pass
