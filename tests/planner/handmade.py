"""Files as the safetensors format describes them, written by hand."""

import json
from pathlib import Path

BYTES = {"F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "I64": 8, "I32": 4, "U8": 1}

GPT2 = {
    "wte.weight": ("F32", [50, 8]),
    "wpe.weight": ("F32", [16, 8]),
    "h.0.ln_1.weight": ("F32", [8]),
    "h.0.attn.bias": ("F32", [1, 1, 16, 16]),
    "h.0.attn.c_attn.weight": ("F32", [8, 24]),
    "h.0.attn.c_attn.bias": ("F32", [24]),
    "h.1.attn.c_attn.weight": ("F32", [8, 24]),
    "h.1.attn.c_attn.bias": ("F32", [24]),
    "h.0.mlp.c_proj.weight": ("F32", [32, 8]),
    "h.0.mlp.c_proj.bias": ("F32", [8]),
    "h.1.mlp.c_proj.weight": ("F32", [32, 8]),
    "h.1.mlp.c_proj.bias": ("F32", [8]),
}
"""Two blocks of a small GPT-2: input dimensions are rows there, not columns."""


def entries(tensors: dict) -> dict:
    """Return the header's entries, one tensor's bytes after the other's."""
    header, start = {}, 0
    for name, (kind, shape) in tensors.items():
        size = BYTES[kind]
        for number in shape:
            size *= number
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [start, start + size]}
        start += size
    return header


def write(path: Path, tensors: dict) -> Path:
    header = entries(tensors)
    return write_raw(path, header, max(e["data_offsets"][1] for e in header.values()))


def write_raw(path: Path, header: object, data: int, length: int | None = None) -> Path:
    """Write a header, given as object or bytes, and as many zeros; the length may be a lie."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    claimed = len(text) if length is None else length
    path.write_bytes(claimed.to_bytes(8, "little") + text + bytes(data))
    return path
