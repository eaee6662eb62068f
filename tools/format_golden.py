# SPDX-License-Identifier: Apache-2.0
"""Compares Plumb's weight formats with the `gguf` Python package, bit for bit.

usage: format_golden.py LIBRARY [--blocks N] [--seed S]

LIBRARY is the module built from src/tensor/format_golden.cc. For every format, N blocks of random
bytes are expanded by both sides; scales cover ordinary values, infinities, NaN, negative and
subnormal numbers. All bits must be equal; where both sides give NaN, its payload is not compared.
The packages' quantisers are compared byte for byte where the package has one.
Exit code 0: equal, 1: different, 77: the package is not installed (the test is skipped).
"""
import argparse
import ctypes
import sys

try:
    import gguf
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}; install it with: python -m pip install gguf numpy")
    sys.exit(77)

# Offsets of the half-precision scales in a block.
SCALES = {
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0],
    "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
    "IQ4_NL": [0], "IQ4_XS": [0], "MXFP4": [],
}
QUANTISED_BY_PACKAGE = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "BF16", "F16", "MXFP4"]


def load(path):
    library = ctypes.CDLL(path)
    for name in ("plumb_block_bytes", "plumb_block_elems"):
        getattr(library, name).restype = ctypes.c_int64
        getattr(library, name).argtypes = [ctypes.c_char_p]
    for name in ("plumb_dequantize", "plumb_quantize"):
        getattr(library, name).restype = None
        getattr(library, name).argtypes = [
            ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p]
    return library


def random_blocks(rng, name, num_blocks, block_bytes):
    """Random bytes with scales of every kind: a fifth each of plain, special and random patterns."""
    blocks = rng.integers(0, 256, (num_blocks, block_bytes), dtype=np.uint8)
    special = np.array([0x7C00, 0xFC00, 0x7E00, 0x0000, 0x8000, 0x0001, 0x83FF, 0x03FF, 0x0400,
                        0x7BFF, 0xFBFF], dtype=np.uint16)
    for offset in SCALES.get(name, []):
        plain = rng.normal(0, 0.1, num_blocks).astype(np.float16).view(np.uint16)
        bits = rng.integers(0, 65536, num_blocks, dtype=np.uint16)
        kind = rng.integers(0, 5, num_blocks)
        bits = np.where(kind < 3, plain, bits)
        bits = np.where(kind == 3, rng.choice(special, num_blocks), bits)
        blocks[:, offset:offset + 2] = bits.astype("<u2").view(np.uint8).reshape(-1, 2)
    if name == "MXFP4":
        blocks[:, 0] = np.arange(num_blocks) % 256
    return blocks


def ours_dequantised(library, name, blocks, num_elements):
    out = np.empty(num_elements, dtype=np.float32)
    library.plumb_dequantize(name.encode(), blocks.ctypes.data, num_elements, out.ctypes.data)
    return out


def differences(ours, theirs):
    """Number of elements whose bits differ, with NaN equal to NaN."""
    both_nan = np.isnan(ours) & np.isnan(theirs)
    return int(np.sum((ours.view(np.uint32) != theirs.view(np.uint32)) & ~both_nan))


def check_dequantise(library, rng, name, num_blocks):
    block_bytes = library.plumb_block_bytes(name.encode())
    elems = library.plumb_block_elems(name.encode())
    if name in ("F16", "BF16"):
        blocks = np.arange(65536, dtype=np.uint16).view(np.uint8).reshape(-1, 2)
    else:
        blocks = random_blocks(rng, name, num_blocks, block_bytes)
    blocks = np.ascontiguousarray(blocks)
    ours = ours_dequantised(library, name, blocks, len(blocks) * elems)
    with np.errstate(all="ignore"):
        theirs = gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType[name])
    theirs = np.ascontiguousarray(theirs, dtype=np.float32).reshape(-1)
    return len(ours), differences(ours, theirs)


def check_quantise(library, rng, name, num_blocks):
    elems = max(32, library.plumb_block_elems(name.encode()))
    x = (rng.normal(0, 1, (num_blocks, elems)) *
         np.exp2(rng.integers(-12, 8, (num_blocks, 1)))).astype(np.float32)
    num_bytes = x.size // library.plumb_block_elems(name.encode()) * \
        library.plumb_block_bytes(name.encode())
    ours = np.empty(num_bytes, dtype=np.uint8)
    library.plumb_quantize(name.encode(), x.ctypes.data, x.size, ours.ctypes.data)
    theirs = gguf.quants.quantize(x, gguf.GGMLQuantizationType[name])
    theirs = np.ascontiguousarray(theirs).view(np.uint8).reshape(-1)
    return num_bytes, int(np.sum(ours != theirs))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("--blocks", type=int, default=4096)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    library = load(options.library)
    rng = np.random.default_rng(options.seed)
    failures = 0
    for name in ["F32", "F16", "BF16", *SCALES]:
        count, wrong = check_dequantise(library, rng, name, options.blocks)
        failures += wrong
        print(f"dequantise {name:7} {count:8} values, {wrong} differ")
    for name in QUANTISED_BY_PACKAGE:
        count, wrong = check_quantise(library, rng, name, options.blocks)
        failures += wrong
        print(f"quantise   {name:7} {count:8} bytes,  {wrong} differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
