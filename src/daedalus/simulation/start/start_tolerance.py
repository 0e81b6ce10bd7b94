"""The tolerance of a start: by how much given states may be off what a model keeps."""


def start_tolerance(rtol: float) -> float:
    """By which share of their size given states may be off what the model keeps, for the tolerance of a run."""
    return max(1e-8, 10 * rtol)
