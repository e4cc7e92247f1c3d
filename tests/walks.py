"""Walks over many cases. The default run takes a part of them."""

import pytest


def one_in(step, cases, is_slow=lambda *case: False):
    """Parameters of tests: one case in so many; the others, and long ones, are slow."""
    cases = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [
        pytest.param(*case, marks=pytest.mark.slow if i % step or is_slow(*case) else ())
        for i, case in enumerate(cases)
    ]
