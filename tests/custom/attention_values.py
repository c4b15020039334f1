#!/usr/bin/env python3
"""Writes attention_values.h: results of custom_ops/attention, computed from its definition in the order of lists of lists.

The inputs are whole numbers / 16, from a formula that attention_test.cc has too: float16 holds them exactly.
"""
import math
import pathlib

BATCH, HEADS, KV_HEADS, QUERIES, KEYS, HEAD_SIZE, VALUE_SIZE, WINDOW = 2, 4, 2, 3, 7, 5, 3, 4


def tensor(seed, *extents):
    """Extents from the slowest on; element i is ((37 i + seed) mod 64 - 32) / 16."""
    count = 0

    def fill(extents):
        nonlocal count
        if extents:
            return [fill(extents[1:]) for _ in range(extents[0])]
        count += 1
        return ((37 * (count - 1) + seed) % 64 - 32) / 16

    return fill(extents)


def attend(q, k, v, sink, window):
    """One query of one head. Keys and values: those that it may see by causality, the last one is its own."""
    k, v = k[-window:], v[-window:]
    scores = [sum(a * b for a, b in zip(q, key)) / math.sqrt(HEAD_SIZE) for key in k]
    weights = [math.exp(s) for s in scores]
    total = sum(weights) + (math.exp(sink) if sink is not None else 0)
    return [sum(w * value[d] for w, value in zip(weights, v)) / total for d in range(VALUE_SIZE)]


def outputs(with_sink, window):
    q = tensor(11, BATCH, HEADS, QUERIES, HEAD_SIZE)
    k = tensor(5, BATCH, KV_HEADS, KEYS, HEAD_SIZE)
    v = tensor(23, BATCH, KV_HEADS, KEYS, VALUE_SIZE)
    sink = tensor(40, HEADS)
    flat = []
    for b in range(BATCH):
        for h in range(HEADS):
            kv = h * KV_HEADS // HEADS
            for i in range(QUERIES):
                seen = KEYS - (QUERIES - 1 - i)
                flat += attend(q[b][h][i], k[b][kv][:seen], v[b][kv][:seen], sink[h] if with_sink else None, window)
    return flat


def array(name, values):
    lines = [", ".join(f"{v:.9g}f" if "." in f"{v:.9g}" or "e" in f"{v:.9g}" else f"{v:.9g}.0f" for v in values[i:i + 6])
             for i in range(0, len(values), 6)]
    return f"inline const std::vector<float> {name} = {{\n    " + ",\n    ".join(lines) + "};\n"


text = ("// Written by attention_values.py.\n#ifndef TIMCL_TESTS_CUSTOM_ATTENTION_VALUES_H_\n"
        "#define TIMCL_TESTS_CUSTOM_ATTENTION_VALUES_H_\n\n#include <vector>\n\nnamespace custom_test {\n\n"
        + array("kAttentionInWindow", outputs(True, WINDOW)) + array("kAttentionToAll", outputs(False, KEYS))
        + "\n}  // namespace custom_test\n\n#endif  // TIMCL_TESTS_CUSTOM_ATTENTION_VALUES_H_\n")
pathlib.Path(__file__).with_name("attention_values.h").write_text(text)
