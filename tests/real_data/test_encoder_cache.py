"""Vectors of texts in the cache folder: whole or not there, and those of one release of the encoder."""

import numpy as np
import pytest

from examples import encoder


class Unreadable:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("no more memory")


def test_a_failed_write_leaves_nothing_and_keeps_what_was_there(tmp_path):
    path = tmp_path / "new" / "sentences.npy"
    with pytest.raises(RuntimeError, match="no more memory"):
        encoder._keep(path, Unreadable())
    assert list(path.parent.iterdir()) == []
    encoder._keep(path, np.eye(2))
    with pytest.raises(RuntimeError, match="no more memory"):
        encoder._keep(path, Unreadable())
    assert list(path.parent.iterdir()) == [path]
    np.testing.assert_array_equal(np.load(path), np.eye(2))


def test_another_release_of_the_encoder_has_vectors_of_its_own(monkeypatch):
    digests = set()
    for release in ("0.1.0", "0.2.0"):
        monkeypatch.setattr(encoder, "version", lambda _package, release=release: release)
        digests |= {encoder._digest(["Kyoto", "Japan"]), encoder._digest(["Kyoto"])}
    assert len(digests) == 4
