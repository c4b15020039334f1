"""What the scripts of this folder share: tensors as stored values with their meaning, and the rules of integer results.

Arrays have the usual order here (N, C, H, W), so that their flat values are in the order of the
tensors. Sums of integers are exact; integer results are q = clip(rint(f32(acc) * f32(m) + zp)) or
q = clip(rint(f32(y) * f32(1/s) + zp)). Float results are float64.
"""
import json, pathlib
import numpy as np

rng = np.random.default_rng(77)
F = np.float32
RANGE = {"u8": (0, 255), "i8": (-128, 127), "i16": (-32768, 32767), "i32": (-2**31, 2**31 - 1),
         "i64": (-2**31, 2**31 - 1)}
cases = []


class T:
    """A tensor: stored values with their meaning."""

    def __init__(self, dtype, q, scale=1.0, zp=0, dim=-1):
        self.dtype, self.q, self.zp, self.dim = dtype, np.asarray(q), zp, dim
        self.scale = [float(F(s)) for s in np.atleast_1d(scale)]

    def json(self):
        return {"dtype": self.dtype, "shape": list(self.q.shape[::-1]), "scales": self.scale,
                "zero_point": self.zp, "channel_dim": self.dim,
                "values": [float(f"{v:.9g}") if self.dtype == "f32" else v.item() for v in self.q.ravel()]}

    def whole(self):
        return self.q.astype(np.int64) - self.zp

    def real(self):
        if self.dtype == "f32":
            return self.q.astype(F)
        return self.whole().astype(F) * F(self.scale[0])


def f32(*shape, lo=-2.0, hi=2.0):
    return T("f32", rng.uniform(lo, hi, shape).astype(F))


def ints(dtype, *shape, scale=1.0, zp=0, dim=-1, lo=None, hi=None):
    least, most = RANGE[dtype]
    lo, hi = least if lo is None else lo, most if hi is None else hi
    return T(dtype, rng.integers(lo, hi + 1, shape), scale, zp, dim)


def quantize(y, dtype, scale, zp):
    inverse = F(1.0 / np.float64(F(scale)))
    v = np.rint(np.asarray(y).astype(F) * inverse + F(zp))
    return np.clip(v, *RANGE[dtype]).astype(np.int64)


def scaled(acc, m, dtype, zp):
    product = acc.astype(F) * m
    return np.clip(np.rint(product + F(zp)), *RANGE[dtype]).astype(np.int64)


def add(op, attrs, inputs, outputs, relative=4e-7):
    cases.append({"op": op, "attrs": attrs, "relative": relative,
                  "inputs": [t.json() if t is not None else None for t in inputs],
                  "outputs": [t.json() for t in outputs]})


def write(script):
    """Writes the cases beside the script, <op>_golden.py to <op>_golden.json; nn_golden_test.cc reads them all."""
    path = pathlib.Path(script).with_suffix(".json")
    path.write_text("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
