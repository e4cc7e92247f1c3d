"""Walks over many cases, of which the default run takes some."""

import pytest


def one_in(step, cases):
    """Parameters of tests: every so-manieth case, counted from the first; the others are slow."""
    cases = [case if isinstance(case, tuple) else (case,) for case in cases]
    marks = [pytest.mark.slow if i % step else () for i in range(len(cases))]
    return [pytest.param(*case, marks=mark) for case, mark in zip(cases, marks, strict=True)]
