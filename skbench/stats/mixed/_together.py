"""Fits that ask for Gaussian algebra step by step, so that several are answered at once.

A fit is a generator that yields what it wants and is sent the answer. Small fits spend most of
their time between the lines of numpy: eight of 460 groups take as long together as two alone.
"""

from typing import NamedTuple

import numpy as np

from skbench.stats.mixed import _gaussian as gaussian
from skbench.stats.mixed._structure import Kinds, Noise, Structure

_ENTRIES = 100_000  # of what is worked on at a time
LEARN, EVIDENCE, POSTERIOR, LATENT = range(4)  # what is wanted: first things come first


class Wanted(NamedTuple):
    """Arguments of `gaussian.posterior` and what is wanted of it.

    what : LEARN, the posterior with slopes; EVIDENCE, only that; POSTERIOR, without slopes;
        LATENT, the same with variances of the latent values
    """

    W: np.ndarray
    b: np.ndarray
    noise: Noise | None
    variances: np.ndarray
    structure: Structure
    what: int

    @property
    def n_fits(self):
        """How many sets of variances there are."""
        return len(np.atleast_2d(self.variances))


def alone(fit):
    """What a fit returns.

    Parameters
    ----------
    fit : generator
        Of `Wanted`.
    """
    return together([fit])[0]


def together(fits):
    """What several fits return, that stay in step as far as they can.

    Parameters
    ----------
    fits : sequence of generator
        Of `Wanted`, of blocks of the same shape with the same design and correlation of noise.

    Returns
    -------
    list
    """
    ended, asking = [None] * len(fits), {}

    def go_on(number, answer):
        try:
            asking[number] = fits[number].send(answer)
        except StopIteration as end:
            ended[number] = end.value

    for number in range(len(fits)):
        go_on(number, None)
    while asking:
        first = min(wanted.what for wanted in asking.values())
        chosen = [number for number, wanted in asking.items() if wanted.what == first]
        for some in _few_at_a_time(chosen, asking):
            requests = [asking.pop(number) for number in some]
            for number, answer in zip(some, _answers(requests), strict=True):
                go_on(number, answer)
    return ended


def _few_at_a_time(numbers, asking):
    """Lists of requests that are small enough together."""
    lists, size = [], 0
    for number in numbers:
        wanted = asking[number]
        own = wanted.n_fits * wanted.W.shape[-2] * wanted.W.shape[-1]
        if not lists or size + own > _ENTRIES:
            lists, size = [*lists, []], 0
        lists[-1].append(number)
        size += own
    return lists


def _answers(requests):
    if len(requests) == 1:
        return [_answer(*requests)]
    ends = np.cumsum([wanted.n_fits for wanted in requests])
    answer = _answer(_joined(requests))
    rows = (
        end - 1 if wanted.variances.ndim == 1 else slice(end - wanted.n_fits, end)
        for wanted, end in zip(requests, ends, strict=True)
    )
    return [_some(answer, at) for at in rows]


def _answer(wanted):
    *arguments, what = wanted
    if what == EVIDENCE:
        return gaussian.log_evidence(*arguments)
    posterior = gaussian.posterior(*arguments, learn=what == LEARN)
    return gaussian.with_latent(wanted.structure, posterior) if what == LATENT else posterior


def _joined(requests):
    """One request for all."""
    sizes = [wanted.n_fits for wanted in requests]
    W, b = (_stacked([getattr(wanted, name) for wanted in requests], sizes, 2) for name in "Wb")
    noise = requests[0].noise
    if noise is not None:
        scales = [wanted.noise.scale for wanted in requests]
        noise = noise._replace(scale=_stacked(scales, sizes, 2))
    variances = np.concatenate([np.atleast_2d(wanted.variances) for wanted in requests])
    structure = _joined_structures([wanted.structure for wanted in requests], sizes)
    return Wanted(W, b, noise, variances, structure, requests[0].what)


def _joined_structures(structures, sizes):
    first, *others = structures
    if all(other is first for other in others):
        return first
    topic = first.topic
    if topic is not None:
        topic = _stacked([structure.topic for structure in structures], sizes, 1)
    own = _stacked([structure.own for structure in structures], sizes, 2)
    known = _stacked([np.atleast_2d(structure.known) for structure in structures], sizes, 2)
    kinds = _common_kinds([structure.kinds for structure in structures])
    return first._replace(topic=topic, own=own, known=known, kinds=kinds)


def _stacked(arrays, sizes, n_axes):
    """Arrays of the fits one after the other, repeated where several have the same."""
    shape = np.broadcast_shapes(*(array.shape[-n_axes:] for array in arrays))
    found, at = np.empty((sum(sizes), *shape)), 0
    for array, size in zip(arrays, sizes, strict=True):
        found[at : at + size] = array
        at += size
    return found


def _common_kinds(every):
    """Blocks that are of the same kind in all fits."""
    members = [kinds.member for kinds in every]
    if any(isinstance(member, slice) for member in members):
        return Kinds()
    if all(np.array_equal(member, members[0]) for member in members):
        return every[0]
    table = np.stack(members, axis=1)
    _, first, member = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return Kinds(first, member.ravel())


def _some(answer, rows):
    """The part of an answer that belongs to some fits."""
    if not isinstance(answer, gaussian.Posterior):
        return answer[rows]
    law = answer.precision.law
    noise = law.noise and law.noise._replace(scale=law.noise.scale[rows])
    topic = law.topic if law.topic.ndim == 1 else law.topic[rows]
    law = law._replace(W=law.W[rows], own=law.own[rows], topic=topic, noise=noise)
    _, *matrices = answer.precision
    precision = type(answer.precision)(law, *(matrix[rows] for matrix in matrices))
    parts = (None if part is None else part[rows] for part in answer._replace(precision=None))
    return gaussian.Posterior(*parts)._replace(precision=precision)
