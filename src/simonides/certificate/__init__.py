"""Proofs that facts can or cannot be stored, and their independent verifier."""

from simonides.certificate.change import ChangeCertificate, ChangeVerification, verify_change
from simonides.certificate.recomputed import Instance
from simonides.certificate.verifier import Certificate, Claim, Verification, margin_upper, verify

__all__ = [
    "Certificate",
    "ChangeCertificate",
    "ChangeVerification",
    "Claim",
    "Instance",
    "Verification",
    "margin_upper",
    "verify",
    "verify_change",
]
