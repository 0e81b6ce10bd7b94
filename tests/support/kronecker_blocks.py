"""Pencils of known structure: canonical blocks hidden behind random well-conditioned transformations."""

import numpy as np


def infinite_block(size):
    return np.diag(np.ones(size - 1), 1), np.eye(size)


def finite_block(size, value):
    return np.eye(size), value * np.eye(size) + np.diag(np.ones(size - 1), 1)


def right_block(index):
    """s E - A is index × (index + 1): one unknown too many."""
    return np.eye(index, index + 1), np.eye(index, index + 1, 1)


def left_block(index):
    E, A = right_block(index)
    return E.T, A.T


def block_diagonal(blocks):
    rows, columns = sum(e.shape[0] for e, _ in blocks), sum(e.shape[1] for e, _ in blocks)
    E, A = np.zeros((rows, columns)), np.zeros((rows, columns))
    i = j = 0
    for e, a in blocks:
        here = (slice(i, i + e.shape[0]), slice(j, j + e.shape[1]))
        E[here], A[here] = e, a
        i, j = i + e.shape[0], j + e.shape[1]
    return E, A


def well_conditioned(rng, size, spread=0.5):
    """A random matrix with singular values between 10^-spread and 10^spread."""
    turns = [np.linalg.qr(rng.normal(size=(size, size)))[0] for _ in range(2)]
    return turns[0] * 10.0 ** rng.uniform(-spread, spread, size) @ turns[1]


def hidden(blocks, rng, spread=0.5):
    E, A = block_diagonal(blocks)
    left, right = well_conditioned(rng, E.shape[0], spread), well_conditioned(rng, E.shape[1], spread)
    return left @ E @ right, left @ A @ right
