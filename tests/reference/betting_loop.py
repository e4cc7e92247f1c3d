"""The hedged capital interval score by score, on a grid of candidate means."""

from math import log, sqrt


def accepted_means(scores, grid, confidence_level, truncation):
    """The candidate means that neither gambler has rejected at any time."""
    goal = 2 / (1 - confidence_level)
    n = len(scores)
    accepted = []
    for m in grid:
        up = down = 1.0
        seen_sum, seen_squares, rejected = 0.5, 0.25, False
        for t, x in enumerate(scores, start=1):
            variance = seen_squares / t
            bet = sqrt(2 * log(goal) / (n * variance))
            up *= 1 + min(bet, truncation / m) * (x - m)
            down *= 1 - min(bet, truncation / (1 - m)) * (x - m)
            rejected = rejected or up >= goal or down >= goal
            seen_sum += x
            seen_squares += (x - seen_sum / (t + 1)) ** 2
        if not rejected:
            accepted.append(m)
    return accepted
