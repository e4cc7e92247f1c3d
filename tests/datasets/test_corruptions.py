import numpy as np
import pytest
from scipy import ndimage
from scipy.stats import binom, chi2
from sklearn.datasets import load_digits

from skbench.datasets import corruptions
from skbench.datasets.corruptions import CORRUPTIONS, SEVERITIES, corrupt

# Those that add nothing of their own to an empty image.
QUIET = ["blur", "rotation", "shift", "contrast", "dimming", "zoom", "shear"]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def digits():
    return load_digits().images / 16


def blob(size=41):
    """One smooth spot in the middle of an image large enough never to lose ink."""
    row, column = np.indices((size, size)) - size // 2
    return np.exp(-(row**2 + column**2) / (2 * 3.0**2))


def lands_on(damaged, candidates):
    """Number of images equal to each candidate; every image must equal one."""
    equal = np.array([[np.allclose(d, c, atol=1e-9) for c in candidates] for d in damaged])
    assert np.all(equal.sum(axis=1) == 1)
    return equal.sum(axis=0)


@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_damage_grows_with_severity_and_stays_grey(corruption, digits, rng):
    before = digits.copy()
    damaged = [corrupt(digits, corruption, severity, rng) for severity in SEVERITIES]
    np.testing.assert_array_equal(digits, before)
    for images in damaged:
        assert images.shape == digits.shape
        assert images.min() >= 0
        assert images.max() <= 1
    distance = [np.abs(images - digits).mean() for images in damaged]
    assert distance[0] > 0
    assert np.all(np.diff(distance) > 0)


@pytest.mark.parametrize("corruption", QUIET)
def test_images_do_not_leak_into_their_neighbours(corruption, rng):
    images = np.stack([np.ones((8, 8)), np.zeros((8, 8)), np.ones((8, 8))])
    damaged = corrupt(images, corruption, 3, rng)
    assert damaged[0].max() > 0
    assert damaged[1].max() == 0


def test_noise_has_its_standard_deviation(rng):
    noise = corruptions._noise(np.full((500, 8, 8), 0.5), 0.3, rng) - 0.5
    low, high = chi2.ppf([0.0005, 0.9995], noise.size) / noise.size
    assert low <= np.mean(noise**2) / 0.3**2 <= high


def test_blur_is_a_gaussian_filter_of_each_image(digits, rng):
    one_by_one = [ndimage.gaussian_filter(image, 1.1, mode="constant") for image in digits[:20]]
    np.testing.assert_allclose(
        corrupt(digits[:20], "blur", 3, rng), one_by_one, atol=1e-12
    )  # the same sums


def test_quarter_turns_go_both_ways(digits, rng):
    turned = corruptions._rotation(np.repeat(digits[:1], 200, axis=0), 90, rng)
    counts = lands_on(turned, [np.rot90(digits[0], 1), np.rot90(digits[0], 3)])
    assert counts.min() >= binom.ppf(0.0005, 200, 0.5)


def test_shift_moves_the_centre_of_ink_by_its_length(rng):
    dot = np.zeros((15, 15))
    dot[7, 7] = 1
    shifted = corruptions._shift(np.repeat(dot[None], 100, axis=0), 2.3, rng)
    # Linear interpolation preserves the mass and the centre of one dot.
    centres = np.array([ndimage.center_of_mass(image) for image in shifted]) - 7
    np.testing.assert_allclose(shifted.sum(axis=(1, 2)), 1, rtol=1e-9)
    np.testing.assert_allclose(np.hypot(*centres.T), 2.3, rtol=1e-9)
    assert np.all(np.abs(centres.mean(axis=0)) < 4 * 2.3 / np.sqrt(2 * 100))


def test_contrast_keeps_the_mean_and_scales_the_spread(digits, rng):
    flat = corrupt(digits, "contrast", 2, rng)
    np.testing.assert_allclose(flat.mean(axis=(1, 2)), digits.mean(axis=(1, 2)))
    np.testing.assert_allclose(flat.std(axis=(1, 2)), 0.45 * digits.std(axis=(1, 2)))


def test_dimming_scales_ink(digits, rng):
    np.testing.assert_allclose(corrupt(digits, "dimming", 2, rng), 0.5 * digits)


def test_salt_and_pepper_hits_its_share_of_pixels(rng):
    damaged = corruptions._salt_and_pepper(np.full((500, 8, 8), 0.5), 0.25, rng)
    hit = damaged != 0.5
    low, high = binom.ppf([0.0005, 0.9995], hit.size, 0.25)
    assert low <= hit.sum() <= high
    low, high = binom.ppf([0.0005, 0.9995], hit.sum(), 0.5)
    assert low <= (damaged == 1).sum() <= high
    assert set(np.unique(damaged)) == {0, 0.5, 1}


def test_occlusion_is_one_square_that_reaches_every_corner(rng):
    hidden = corruptions._occlusion(np.zeros((1000, 8, 8)), 3, rng) == 0.5
    assert np.all(hidden.sum(axis=(1, 2)) == 9)
    assert np.all(hidden.any(axis=1).sum(axis=1) == 3)
    assert np.all(hidden.any(axis=2).sum(axis=1) == 3)
    assert hidden.any(axis=0).all()


def test_zoom_makes_larger_and_smaller(rng):
    factor = 1.4
    image = blob()
    zoomed = corruptions._zoom(np.repeat(image[None], 200, axis=0), factor, rng)
    area = zoomed.sum(axis=(1, 2)) / image.sum()
    larger = area > 1
    # Areas scale with the square; linear interpolation of the spot costs under 1%.
    np.testing.assert_allclose(area[larger], factor**2, rtol=0.01)
    np.testing.assert_allclose(area[~larger], factor**-2, rtol=0.01)
    low, high = binom.ppf([0.0005, 0.9995], 200, 0.5)
    assert low <= larger.sum() <= high


def test_shear_moves_rows_in_proportion_to_their_height(rng):
    line = np.zeros((9, 9))
    line[:, 4] = 1
    sheared = corruptions._shear(np.repeat(line[None], 200, axis=0), 1, rng)
    counts = lands_on(sheared, [np.eye(9), np.eye(9)[::-1]])
    assert counts.min() >= binom.ppf(0.0005, 200, 0.5)
