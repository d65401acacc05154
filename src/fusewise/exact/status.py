"""How a solve or a certificate ended: a short word, and the sentence that explains it."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class ExplainedStatus(StrEnum):
    """A word that equals its text (``status == "optimal"``), with a sentence in ``message``."""

    message: str

    def __new__(cls, word: str, message: str) -> Self:
        """A member, from its word and its sentence."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.message = message
        return member


class SolutionStatus(ExplainedStatus):
    """How `solve_l0` ended."""

    OPTIMAL = "optimal", "Proven optimal: no feasible partition separates fewer pairs."
    WITHIN_GAP = "within gap", "Stopped because the gap is at most the one asked for."
    TIME_LIMIT = "time limit", "Stopped at the time limit: the best partition found so far, with a valid bound."
    INTERRUPTED = "interrupted", "Interrupted: the best partition found so far, with a valid bound."


class CertificateStatus(ExplainedStatus):
    """What `certify` found; the messages have fields that the certificate fills in."""

    OPTIMAL = "optimal", "Optimal: {separates}, and no feasible partition separates fewer."
    WITHIN_GAP = "within gap", "At most {percent}% above the optimum: {separates}; {known}."
    NOT_OPTIMAL = "not optimal", "Not optimal: {separates}; the optimum is 0, so no percentage can be given."
    UNKNOWN = "unknown", "Unknown: {separates}, and no lower bound above 0 was proven. A longer time_limit may help."
    INFEASIBLE = (
        "infeasible",
        "Infeasible for epsilon = {epsilon:g}: {violations} further apart than that in a feature both observe, "
        "for instance rows {first} and {second}.",
    )
