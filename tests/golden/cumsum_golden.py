#!/usr/bin/env python3
"""Writes cumsum_golden.json: running sums by NumPy."""
import numpy as np
from golden import F, Golden, T, quantize

g = Golden(__file__, 77, of_largest=4e-7)
f32, ints, add = g.f32, g.ints, g.add


def running_sum(x, axis, exclusive, reverse, dtype):
    along = x.ndim - 1 - axis if axis >= 0 else -1 - axis  # axis 0 is the fastest: NumPy's last
    x = np.flip(x, along) if reverse else x
    y = np.cumsum(x, along, dtype=dtype)  # in that order, step by step
    if exclusive:
        y = np.concatenate([np.zeros_like(y.take([0], along)), np.delete(y, -1, along)], along)
    return np.flip(y, along) if reverse else y


for exclusive in (False, True):
    for reverse in (False, True):
        for axis in (0, 2, -2):
            x = f32(2, 3, 4)
            attrs = {"axis": axis, "exclusive": exclusive, "reverse": reverse}
            add("CumSum", attrs, [x], [T("f32", running_sum(x.q, axis, exclusive, reverse, np.float64))])
x = ints("u8", 3, 10, scale=0.026, zp=121)  # integer results: float32 steps
add("CumSum", {"axis": 0}, [x], [quantize(running_sum(x.real(), 0, 0, 0, F), "i8", 0.09, -5)])
x = ints("i32", 8, 2, lo=2**20, hi=2**30)  # exact, saturated
y = np.clip(running_sum(x.q, 1, False, False, np.int64), -2**31, 2**31 - 1)
add("CumSum", {"axis": 1}, [x], [T("i32", y)])
g.write()
