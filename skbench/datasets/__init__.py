"""Data sets with known true values: simulators and a real benchmark."""

from skbench.datasets._data import ItemData
from skbench.datasets.digits_c import load_digits_c, sample_items
from skbench.datasets.judged import make_judged_items
from skbench.datasets.simulate import make_items

__all__ = ["ItemData", "load_digits_c", "make_items", "make_judged_items", "sample_items"]
