"""Ten corruptions of stacks of small gray images, each at five severities."""

import numpy as np
from scipy import ndimage

SEVERITIES = (1, 2, 3, 4, 5)


def corrupt(images, corruption, severity, rng):
    """Return a corrupted copy of images with gray values from 0 to 1. Severities are 1 to 5."""
    function, strengths = CORRUPTIONS[corruption]
    return np.clip(function(images, strengths[severity - 1], rng), 0, 1)


def _noise(images, std, rng):
    """Add normal noise with standard deviation `std`."""
    return images + rng.normal(0, std, images.shape)


def _blur(images, std, rng):
    """Blur by a Gaussian filter, with `std` in pixels."""
    return ndimage.gaussian_filter(images, (0, std, std), mode="constant")


def _rotation(images, degrees, rng):
    """Rotate by `degrees` to the left or to the right."""
    angle = np.radians(degrees) * _signs(len(images), rng)
    cos, sin = np.cos(angle), np.sin(angle)
    return _warp(images, [[cos, -sin], [sin, cos]])


def _shift(images, pixels, rng):
    """Shift by `pixels` in a random direction."""
    angle = rng.uniform(0, 2 * np.pi, len(images))
    return _warp(images, [[1, 0], [0, 1]], pixels * np.array([np.sin(angle), np.cos(angle)]))


def _contrast(images, share, rng):
    """Reduce the contrast of each image to a `share`, around its mean."""
    mean = images.mean(axis=(1, 2), keepdims=True)
    return mean + share * (images - mean)


def _salt_and_pepper(images, share, rng):
    """Set a `share` of the pixels to 0 or 1."""
    extreme = rng.integers(0, 2, images.shape)
    return np.where(rng.random(images.shape) < share, extreme, images)


def _occlusion(images, side, rng):
    """Draw a gray square of `side` pixels at a random place."""
    height, width = images.shape[1:]
    top = rng.integers(0, height - side + 1, len(images))[:, None, None]
    left = rng.integers(0, width - side + 1, len(images))[:, None, None]
    row, column = np.indices((height, width))
    hidden = (row >= top) & (row < top + side) & (column >= left) & (column < left + side)
    return np.where(hidden, 0.5, images)


def _dimming(images, share, rng):
    """Reduce the darkness of the ink to a `share`."""
    return share * images


def _zoom(images, factor, rng):
    """Enlarge or shrink by `factor`, each with probability 0.5."""
    scale = factor ** _signs(len(images), rng)
    return _warp(images, [[scale, 0], [0, scale]])


def _shear(images, slope, rng):
    """Slant by `slope` columns per row, to the left or to the right."""
    return _warp(images, [[1, 0], [slope * _signs(len(images), rng), 1]])


# Strengths of severities 1 to 5, chosen so that accuracy falls from almost that on clean images to
# almost that of guessing.
CORRUPTIONS = {
    "noise": (_noise, (0.15, 0.3, 0.5, 0.8, 1.5)),
    "blur": (_blur, (0.5, 0.8, 1.1, 1.5, 2.2)),
    "rotation": (_rotation, (6, 15, 25, 40, 70)),
    "shift": (_shift, (0.3, 0.7, 1.1, 1.6, 2.4)),
    "contrast": (_contrast, (0.7, 0.45, 0.3, 0.18, 0.08)),
    "salt and pepper": (_salt_and_pepper, (0.05, 0.12, 0.25, 0.45, 0.75)),
    "occlusion": (_occlusion, (2, 3, 5, 6, 7)),
    "dimming": (_dimming, (0.75, 0.5, 0.35, 0.22, 0.13)),
    "zoom": (_zoom, (1.08, 1.2, 1.4, 1.8, 2.6)),
    "shear": (_shear, (0.15, 0.3, 0.5, 0.8, 1.6)),
}


def _signs(size, rng):
    return rng.choice([-1.0, 1.0], size)


def _warp(images, matrix, offset=0.0):
    """Read pixel (row, column) of each image at `matrix @ (row, column) + offset`."""
    # Coordinates are relative to the center, and outside is background. The number of the image is
    # a third coordinate, so that one interpolation is enough for all images.
    index = np.indices(images.shape, dtype=float)
    center = (np.array(images.shape[1:]) - 1).reshape(2, 1, 1, 1) / 2
    matrix = [[np.broadcast_to(entry, len(images)) for entry in row] for row in matrix]
    place = np.einsum("ijn,jnrc->inrc", np.array(matrix, float), index[1:] - center)
    place += center + np.broadcast_to(offset, (2, len(images)))[:, :, None, None]
    return ndimage.map_coordinates(images, [index[0], *place], order=1)
