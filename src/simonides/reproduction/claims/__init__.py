"""The paper's claims, each checked against what was measured."""
