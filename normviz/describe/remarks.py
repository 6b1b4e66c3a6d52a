"""Remarks on the statistics of a normalization on a batch, for reports and the page of a model."""

from collections.abc import Mapping

REMARK_KEYS = ("channels", "dead_channels", "count", "collapsed_fields", "eps_dominates")
"""The numbers that remarks are made of."""


def list_remarks(numbers: Mapping[str, float], target: str) -> list[str]:
    """List remarks on a layer that normalizes `target` ("activation" or "weight"), from its numbers by name.

    >>> numbers = {"channels": 8, "dead_channels": 2, "count": 8, "collapsed_fields": 0, "eps_dominates": 0.25}
    >>> list_remarks(numbers, "activation")
    ['2 of 8 channels are constant on this batch.', 'ε is larger than 25% of the mean squares.']
    """
    remarks = []
    if numbers.get("dead_channels") and target == "activation":
        shares = f"{numbers['dead_channels']:.0f} of {numbers['channels']:.0f}"
        remarks.append(f"{shares} channels are constant on this batch.")
    if numbers.get("collapsed_fields"):
        remarks.append(f"{numbers['collapsed_fields']:.0f} of {numbers['count']:.0f} fields have no variance.")
    if numbers.get("eps_dominates"):
        remarks.append(f"ε is larger than {numbers['eps_dominates']:.0%} of the mean squares.")
    return remarks
