#!/usr/bin/env python3
"""Writes norm_golden.json: normalizations by ONNX's reference evaluator and ONNX Runtime."""
import numpy as np
from golden import Golden, T, onnx_run, runtime_run

g = Golden(__file__, 611, decimals=3, of_largest=4e-7)
SOURCE = "onnx.reference"
U8 = T("u8", [], 0.021, 117)
I8 = T("i8", [], 0.023, -9)
I16 = T("i16", [], 0.0004, 0)


def inputs_for(*shape):
    """Float, and integers with the result's meaning."""
    yield g.f32(*shape), T("f32", [])
    yield g.ints("u8", *shape, scale=0.03, zp=131), U8
    yield g.ints("i8", *shape, scale=0.02, zp=5), I8
    yield g.ints("u8", *shape, scale=0.03, zp=131), T("f32", [])


# ---- BatchNormalization: X, scale, B, mean, var

def batch_norm(x, y, eps):
    c = x.q.shape[1]
    mean, var, gamma, beta = g.f32(c), g.f32(c, lo=0.1), g.f32(c), g.f32(c)
    real = onnx_run("BatchNormalization", [t.real() for t in (x, gamma, beta, mean, var)], 15,
                    epsilon=float(np.float32(eps)))
    g.add("BatchNorm", {"eps": eps}, [x, mean, var, gamma, beta], [y.of(real)], SOURCE,
          of_largest=4e-6, steps=1)


for x, y in inputs_for(2, 3, 4, 5):
    batch_norm(x, y, 1e-5)
batch_norm(g.f32(2, 5, 7), T("f32", []), 0.5)
batch_norm(g.f32(3, 6), T("f32", []), 1e-3)
batch_norm(g.f32(2, 3, 2, 4, 3), T("f32", []), 1e-3)


# ---- InstanceNormalization: input, scale, B

def instance_norm(x, y, eps):
    c = x.q.shape[1]
    gamma, beta = g.f32(c), g.f32(c)
    real = onnx_run("InstanceNormalization", [t.real() for t in (x, gamma, beta)], 6,
                    epsilon=float(np.float32(eps)))
    g.add("InstanceNormalization", {"eps": eps}, [x, beta, gamma], [y.of(real)], SOURCE,
          of_largest=4e-6, steps=1)


for x, y in inputs_for(2, 3, 4, 5):
    instance_norm(x, y, 1e-5)
instance_norm(g.f32(2, 5, 7), T("f32", []), 0.5)
instance_norm(g.ints("i32", 2, 3, 3, 3, lo=-50, hi=50), T("f32", []), 1e-3)


# ---- LayerNormalization over one axis: the axis is moved to the end and back

def layer_norm(x, y, axis, eps):
    at = x.q.ndim - 1 - axis
    n = x.q.shape[at]
    gamma, beta = g.f32(n), g.f32(n)
    moved = np.moveaxis(x.real(), at, -1)
    real = onnx_run("LayerNormalization", [moved, gamma.real(), beta.real()], 17, axis=-1,
                    epsilon=float(np.float32(eps)))
    g.add("LayerNormalization", {"axis": axis, "eps": eps}, [x, beta, gamma],
          [y.of(np.moveaxis(real, -1, at))], SOURCE, of_largest=4e-6, steps=1)


for x, y in inputs_for(3, 4, 7):
    layer_norm(x, y, 0, 1e-5)
for axis in (1, 2):
    layer_norm(g.f32(3, 4, 7), T("f32", []), axis, 1e-3)
    layer_norm(g.ints("i16", 3, 4, 7, scale=0.0003), I16, axis, 1e-5)


# ---- LpNormalization, p = 2

def l2_norm(x, y, axis):
    real = onnx_run("LpNormalization", [x.real()], 1, axis=x.q.ndim - 1 - axis, p=2)
    g.add("L2Normalization", {"axis": axis}, [x], [y.of(real)], SOURCE, of_largest=2e-6, steps=1)


UNIT = T("i8", [], 1 / 128, 0)
for axis in range(4):
    l2_norm(g.f32(2, 3, 4, 5), T("f32", []), axis)
    l2_norm(g.ints("u8", 2, 3, 4, 5, scale=0.03, zp=131), UNIT, axis)


# ---- LRN-13 divides alpha by the size and works along dimension 1. The reference evaluator of ONNX 1.23
# counts images where it should count channels, so it serves only where there are as many; ONNX Runtime
# takes no even sizes.

def lrn(x, y, size, alpha, beta, bias, axis):
    at = x.q.ndim - 1 - axis
    moved = np.moveaxis(x.real(), at, 1)
    run, source = (onnx_run, SOURCE) if size % 2 == 0 else (runtime_run, "onnxruntime")
    assert size % 2 or moved.shape[0] == moved.shape[1]
    real = run("LRN", [moved], 13, size=size, alpha=float(alpha * size), beta=float(beta),
               bias=float(bias))
    g.add("LocalResponseNormalization",
          {"size": size, "alpha": alpha, "beta": beta, "bias": bias, "axis": axis}, [x],
          [y.of(np.moveaxis(real, 1, at))], source, of_largest=4e-6, steps=1)


for x, y in inputs_for(2, 7, 3, 4):
    lrn(x, y, 5, 0.25, 0.75, 1.0, 2)
for axis in (0, 1, 3):
    lrn(g.f32(3, 2, 4, 5), T("f32", []), 3, 0.5, 0.5, 2.0, axis)
for size in (1, 15):
    lrn(g.f32(2, 7, 3, 4), T("f32", []), size, 0.125, 1.5, 0.5, 2)
for size in (2, 4):
    lrn(g.f32(5, 5, 3, 2), T("f32", []), size, 0.125, 1.5, 0.5, 2)

g.write()
