"""Estimate new models from few items with the results of earlier models."""

from skbench.bank.audit import ItemAudit, item_audit
from skbench.bank.choose import choose_items
from skbench.bank.item_bank import ItemBank
from skbench.bank.needed import ItemsNeeded, items_needed
from skbench.bank.unit_level import UnitLevelModel

__all__ = [
    "ItemAudit",
    "ItemBank",
    "ItemsNeeded",
    "UnitLevelModel",
    "choose_items",
    "item_audit",
    "items_needed",
]
