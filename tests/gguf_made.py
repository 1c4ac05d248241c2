"""Files as the GGUF format describes them, written by hand."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

F32, F16, Q4_0, I32 = 0, 1, 2, 26
BLOCKS = {F32: (1, 4), F16: (1, 2), Q4_0: (32, 18), I32: (1, 4)}
"""Entries of a block, and its bytes."""

LLAMA = {
    "token_embd.weight": (Q4_0, [64, 96]),
    "output.weight": (F16, [64, 96]),
    "output_norm.weight": (F32, [64]),
    "rope_freqs.weight": (F32, [16]),
} | {
    f"blk.{block}.{name}.weight": part
    for block in range(2)
    for name, part in {
        "attn_norm": (F32, [64]),
        "attn_q": (Q4_0, [64, 64]),
        "attn_k": (Q4_0, [64, 32]),
        "ffn_down": (Q4_0, [160, 64]),
        "ffn_gate_exps": (Q4_0, [64, 160, 4]),
    }.items()
}
"""Two blocks of a small Llama, the innermost size first."""


def text(words: str | bytes) -> bytes:
    raw = words.encode() if isinstance(words, str) else words
    return struct.pack("<Q", len(raw)) + raw


def value(content: object) -> bytes:
    """Return a value with the number of its kind before it."""
    if isinstance(content, str):
        return struct.pack("<I", 8) + text(content)
    if isinstance(content, list):
        parts = [value(item) for item in content]
        return (
            struct.pack("<I", 9)
            + parts[0][:4]
            + struct.pack("<Q", len(parts))
            + b"".join(part[4:] for part in parts)
        )
    if isinstance(content, float):
        return struct.pack("<If", 6, content)
    return struct.pack("<II", 4, content)


META = {
    "general.architecture": "llama",
    "llama.rope.freq_base": 1e4,
    "tokenizer.ggml.tokens": ["<s>", "b", "c"],
    "tokenizer.ggml.scores": [0.0, 1.0, 2.0],
}


def content(tensors: dict = LLAMA, meta: dict = META, *, version: int = 3) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(meta))
    head += b"".join(text(key) + value(item) for key, item in meta.items())
    place = 0
    for name, (kind, shape) in tensors.items():
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, place)
        entries, size = BLOCKS[kind]
        for number in shape:
            size *= number
        place += -(-size // entries // 32) * 32
    return head + bytes(-len(head) % 32 + place)


def write(path: Path, tensors: dict = LLAMA, meta: dict = META, **options: int) -> Path:
    path.write_bytes(content(tensors, meta, **options))
    return path
