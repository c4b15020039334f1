#!/usr/bin/env python3
"""Writes sigmoid_uint8.txt and gelu_int8.txt, table files for LookupTable. Change the function and the scales for others.

A table holds the stored result for each stored input q, from the lowest q up. Stored numbers stand for real ones by
real = (q - zero_point) * scale.
"""
import math
import pathlib


def write(name, dtype, function, in_scale, in_zero, out_scale, out_zero):
    lowest = -128 if dtype == "int8" else 0
    results = []
    for q in range(lowest, lowest + 256):
        stored = round(function((q - in_zero) * in_scale) / out_scale) + out_zero
        results.append(min(max(stored, lowest), lowest + 255))
    lines = [f"lookup_table {dtype}",
             f"# {name}: input scale {in_scale}, zero point {in_zero}; output scale {out_scale}, zero point {out_zero}"]
    lines += [" ".join(f"{r:4}" for r in results[i:i + 16]) for i in range(0, 256, 16)]
    path = pathlib.Path(__file__).with_name(f"{name}_{dtype}.txt")
    path.write_text("\n".join(lines) + "\n")


write("sigmoid", "uint8", lambda x: 1 / (1 + math.exp(-x)), 0.0625, 128, 1 / 256, 0)
write("gelu", "int8", lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))), 0.03125, -5, 0.03125, -120)
