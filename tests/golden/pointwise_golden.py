#!/usr/bin/env python3
"""Writes pointwise_golden.json: values of every point-wise op, computed with NumPy alone.

Float results in float64, integer results in float32.
"""
import math
import numpy as np
from golden import F, Golden, T

g = Golden(__file__, 2024, digits=17, relative=4e-7, absolute=1e-7)
erf = np.vectorize(math.erf)
SQRT_HALF = math.sqrt(0.5)


def gelu(x, approximate):
    if approximate:
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + erf(x * SQRT_HALF))


# name: (attributes, formula over arrays of one dtype, lowest and highest input, steps allowed)
# The formula takes constants as F so that a float32 array stays float32.
UNARY = {
    "Relu": [({}, lambda x: np.fmax(x, F(0)), -4, 4, 0)],
    "Relu1": [({}, lambda x: np.clip(x, F(-1), F(1)), -4, 4, 0)],
    "Relu6": [({}, lambda x: np.clip(x, F(0), F(6)), -4, 9, 0)],
    "Tanh": [({}, np.tanh, -4, 4, 1)],
    "Sigmoid": [({}, lambda x: F(1) / (F(1) + np.exp(-x)), -9, 9, 1)],
    "Swish": [({}, lambda x: x / (F(1) + np.exp(-x)), -9, 9, 1)],
    "HardSwish": [({}, lambda x: x * np.clip(x + F(3), F(0), F(6)) / F(6), -5, 5, 1)],
    "Mish": [({}, lambda x: x * np.tanh(np.log1p(np.exp(x))), -9, 9, 1)],
    "SoftRelu": [({}, lambda x: np.log1p(np.exp(x)), -9, 9, 1)],
    "Sign": [({}, np.sign, -4, 4, 0)],
    "SoftSign": [({}, lambda x: x / (F(1) + np.abs(x)), -4, 4, 1)],
    "Elu": [({"alpha": a}, lambda x, a=F(a): np.where(x > 0, x, a * np.expm1(x)), -4, 4, 1)
            for a in (1.0, 0.375)],
    "HardSigmoid": [({"alpha": a, "beta": b},
                     lambda x, a=F(a), b=F(b): np.clip(a * x + b, F(0), F(1)), -4, 4, 0)
                    for a, b in ((0.25, 0.5), (0.3125, 0.4375))],
    "LeakyRelu": [({"alpha": a}, lambda x, a=F(a): np.where(x > 0, x, a * x), -4, 4, 0)
                  for a in (0.125, 0.3)],
    "Linear": [({"a": a, "b": b}, lambda x, a=F(a), b=F(b): a * x + b, -4, 4, 0)
               for a, b in ((1.75, -0.5), (-0.375, 0.0))],
    "Gelu": [({"approximate": a}, lambda x, a=a: gelu(x, a), -4, 4, 1) for a in (True, False)],
    "Selu": [({"alpha": a, "gamma": g},
              lambda x, a=F(a), g=F(g): np.where(x > 0, g * x, g * a * np.expm1(x)), -4, 4, 1)
             for a, g in ((1.67326, 1.0507), (1.25, 0.75))],
    "Celu": [({"alpha": a}, lambda x, a=F(a): np.where(x >= 0, x, a * np.expm1(x / a)), -4, 4, 1)
             for a in (1.0, 0.625)],
    "Clip": [({"min": a, "max": b}, lambda x, a=F(a), b=F(b): np.clip(x, a, b), -9, 9, 0)
             for a, b in ((-1.5, 2.25), (0.5, 7.0))],
    "DataConvert": [({}, lambda x: x, -4, 4, 0)],
    "Neg": [({}, lambda x: -x, -4, 4, 0)],
    "Abs": [({}, np.abs, -4, 4, 0)],
    "Sin": [({}, np.sin, -9, 9, 1)],
    "Cos": [({}, np.cos, -9, 9, 1)],
    "Tan": [({}, np.tan, -1.4, 1.4, 1)],
    "ATan": [({}, np.arctan, -4, 4, 1)],
    "ATanh": [({}, np.arctanh, -0.9, 0.9, 1)],
    "ACosh": [({}, np.arccosh, 1.1, 9, 1)],
    "Exp": [({}, np.exp, -4, 4, 1)],
    "Log": [({}, np.log, 0.1, 9, 1)],
    "Sqrt": [({}, np.sqrt, 0.1, 9, 1)],
    "Rsqrt": [({}, lambda x: F(1) / np.sqrt(x), 0.1, 9, 1)],
    "Square": [({}, lambda x: x * x, -4, 4, 0)],
    "Rcp": [({}, lambda x: F(1) / x, 0.2, 4, 1)],
    "Floor": [({}, np.floor, -4, 4, 0)],
    "Ceil": [({}, np.ceil, -4, 4, 0)],
    "Round": [({}, np.round, -4, 4, 0)],
}
BINARY = {
    "Minimum": [({}, np.fmin, -4, 4, 0)],
    "Maximum": [({}, np.fmax, -4, 4, 0)],
    "Add": [({}, lambda x, y: x + y, -4, 4, 0)],
    "Sub": [({}, lambda x, y: x - y, -4, 4, 0)],
    "Multiply": [({"scale": s}, lambda x, y, s=F(s): x * y * s, -4, 4, 0) for s in (1.0, 0.375)],
    "Div": [({"scale": s}, lambda x, y, s=F(s): x / y * s, 0.5, 4, 1) for s in (1.0, 2.5)],
    "Pow": [({}, np.power, 0.25, 3, 1)],
    "FloorDiv": [({}, lambda x, y: np.floor(x.astype(F) / y.astype(F)), 0.5, 4, 0)],
    "Prelu": [({"axis": 1}, lambda x, y: np.where(x >= 0, x, x * y), -4, 4, 0)],
}


def f32(*values):
    return T("f32", np.array(values, F))


def case(op, attrs, formula, steps, inputs, out):
    y = formula(*(t.double() if out.dtype == "f32" else t.real() for t in inputs))
    g.add(op, attrs, inputs, [out.of(y)], steps=steps)


F32 = f32()
for op, rows in UNARY.items():
    for attrs, formula, lo, hi, steps in rows:
        for n, x, y in ((7, F32, F32),
                        (9, T("u8", [], 0.0625, 120), T("u8", [], 0.05, 90)),
                        (7, T("i16", [], 0.002), T("i8", [], 0.04, -9))):
            case(op, attrs, formula, steps, [x.of(g.f32(n, lo=lo, hi=hi).q)], y)
for op, rows in BINARY.items():
    for attrs, formula, lo, hi, steps in rows:
        for x, y in ((F32, F32), (T("u8", [], 0.03125, 120), T("u8", [], 0.07, 80)),
                     (T("i8", [], 0.0625, -5), T("i16", [], 0.003, 12))):
            case(op, attrs, formula, steps, [x.of(g.f32(*shape, lo=lo, hi=hi).q) for shape in ((2, 2, 3), (2, 1))], y)

# ---- by hand

# Whole numbers: exact, saturating.
top, low = 2**31 - 1, -2**31
x, y = np.array([top, low, 16777217, 46341]), np.array([top, -1, 3, 46341])
for op, exact in (("Add", x + y), ("Sub", x - y), ("Multiply", x * y), ("Minimum", np.minimum(x, y)),
                  ("Maximum", np.maximum(x, y))):
    g.add(op, {}, [T("i32", x), T("i32", y)], [T("i32", np.clip(exact, low, top))])
# Halves to even; truncation toward 0; the stored number, not the real one.
g.add("Round", {}, [f32(0.5, 1.5, 2.5, -0.5, -1.5, -2.5)], [f32(0, 2, 2, 0, -2, -2)])
g.add("Cast", {}, [f32(1.9, -1.9, 300, -300, 0, 127.5)], [T("i8", [1, -1, 127, -128, 0, 127], 0.5, 3)])
g.add("Cast", {}, [T("u8", [0, 100, 255], 0.25, 100)], [f32(0, 100, 255)])
g.add("Cast", {}, [f32(0, 0.25, -3, 1, -0.0, 9)], [T("bool", [0, 1, 1, 1, 0, 1])])
g.add("LogicalNot", {}, [T("i8", [0, 1, -7, 127])], [T("bool", [1, 0, 0, 0])])
g.add("LogicalNot", {}, [T("bool", [[0, 1, 1], [1, 0, 0]])], [T("i8", [[1, 0, 0], [0, 1, 1]])])
g.add("LogicalNot", {}, [T("i8", [3, 0, 4, -128], 0.5, 3)], [T("i8", [-3, -7, -7, -7], 0.25, -7)])
# A slope with one extent other than 1 goes along the axis, though dimension 0 would fit as well.
g.add("Prelu", {"axis": 1}, [T("f32", [[-1, -2], [-3, -4]]), f32(10, 100)], [T("f32", [[-10, -20], [-300, -400]])])
# Division by zero: infinities, which saturate.
for op in ("Div", "FloorDiv"):
    g.add(op, {}, [f32(1, -1), f32(0)], [T("u8", [255, 0], 0.1, 10)])

g.write()
