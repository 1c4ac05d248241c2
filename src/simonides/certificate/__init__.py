"""Proofs that facts can or cannot be stored, and their independent verifier."""

from simonides.certificate.recomputed import Instance
from simonides.certificate.verifier import Certificate, Claim, Verification, margin_upper, verify

__all__ = ["Certificate", "Claim", "Instance", "Verification", "margin_upper", "verify"]
