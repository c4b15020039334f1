"""What the scripts of this folder share: tensors as stored values with their meaning, nodes of ONNX, and the form of the
files. x_golden.py writes x_golden.json beside it. Packages: numpy, onnx, onnxruntime. All of them again:
    for script in *_golden.py; do python3 $script; done

A file is {"generator", "sha256", "versions", "cases"}, its hash that of check_stale.py, which finds it stale. A case is
{"op", "attrs", "source", "tolerance", "inputs", "outputs"}; null is an operand left out or, among values, a NaN. The
tolerance says by how much a result may differ from its value y:
    stored integers   |result - y| <= steps
    floats            |result - y| <= absolute + relative * |y| + of_largest * (the largest |y| of that output)
What it does not name is 0. With neither `absolute` nor `of_largest`, y is the float32 that its digits name.

Arrays have the usual order here (slowest dimension first: N, C, H, W), so that their flat values are in the order of the
tensors. Sums of integers are exact; reals are stored as q = clip(rint(f32(y) * f32(1 / scale) + zp)), integer
accumulators as q = clip(rint(f32(acc) * f32(m) + zp)). Float results are float64.
"""
import json, pathlib, sys
import numpy as np
from check_stale import digest

F = np.float32
RANGE = {"u8": (0, 255), "i8": (-128, 127), "i16": (-32768, 32767), "i32": (-2**31, 2**31 - 1),
         "i64": (-2**31, 2**31 - 1), "bool": (0, 1)}


class T:
    """A tensor: stored values with their meaning; `scale` may be a list along dimension `dim` of the tensor."""

    def __init__(self, dtype, q, scale=1.0, zp=0, dim=-1):
        self.dtype, self.q, self.zp, self.dim = dtype, np.asarray(q), zp, dim
        self.scale = float(F(scale)) if dim < 0 else [float(F(s)) for s in scale]

    def json(self, digits):
        meaning = {"scales": self.scale, "channel_dim": self.dim} if self.dim >= 0 else \
            {"scale": self.scale, "zero_point": self.zp} if (self.scale, self.zp) != (1.0, 0) else {}
        assert self.dtype == "f32" or self.q.dtype.kind in "iub", self.q.dtype
        return {"dtype": self.dtype, "shape": list(self.q.shape[::-1]), **meaning, "values": [
            int(v) if self.dtype != "f32" else None if np.isnan(v) else float(f"{v:.{digits}g}")
            for v in self.q.ravel()]}

    def whole(self):
        """Integers less their zero point."""
        return self.q.astype(np.int64) - self.zp

    def real(self):
        """The float32 numbers that the stored values stand for."""
        return self.q.astype(F) if self.dtype == "f32" else self.whole().astype(F) * F(self.scale)

    def double(self):
        return self.real().astype(np.float64)

    def like(self, q):
        """Other stored values with the same meaning."""
        return T(self.dtype, q, self.scale, self.zp, self.dim)

    def of(self, y):
        """Real numbers stored as this tensor stores them."""
        if self.dtype == "f32":
            return self.like(y)
        inverse = F(1.0 / np.float64(F(self.scale)))
        return self.clip(np.asarray(y).astype(F) * inverse)

    def scaled(self, acc, m):
        """Integer accumulators that stand for acc * m times this tensor's scale, stored as this tensor stores them."""
        return self.clip(np.asarray(acc).astype(F) * m)

    def clip(self, units):
        return self.like(np.clip(np.rint(units + F(self.zp)), *RANGE[self.dtype]).astype(np.int64))


def quantize(y, dtype="f32", scale=1.0, zp=0):
    return T(dtype, [], scale, zp).of(y)


class Golden:
    """The cases of one script. Floats are drawn from [-reach, reach), rounded to `decimals` if those are given, and
    written with `digits` significant digits: nine name a float32. `source` computed what its case does not say, and
    `tolerance` is that of cases without their own."""

    def __init__(self, script, seed, reach=2.0, decimals=None, digits=9, source="numpy", **tolerance):
        self.script, self.rng = pathlib.Path(script).resolve(), np.random.default_rng(seed)
        self.reach, self.decimals, self.digits = reach, decimals, digits
        self.source, self.tolerance, self.cases = source, tolerance, []

    def f32(self, *shape, lo=None, hi=None):
        x = self.rng.uniform(-self.reach if lo is None else lo, self.reach if hi is None else hi, shape)
        return T("f32", (x if self.decimals is None else x.round(self.decimals)).astype(F))

    def ints(self, dtype, *shape, scale=1.0, zp=0, dim=-1, lo=None, hi=None):
        least, most = RANGE[dtype]
        lo, hi = least if lo is None else lo, most if hi is None else hi
        return T(dtype, self.rng.integers(lo, hi + 1, shape), scale, zp, dim)

    def u8(self, *shape):
        return self.ints("u8", *shape, scale=0.026, zp=121)

    def i8(self, *shape):
        return self.ints("i8", *shape, scale=0.031, zp=-9)

    def truth(self, *shape):
        return self.ints("bool", *shape)

    def add(self, op, attrs, inputs, outputs, source=None, **tolerance):
        allowed = {k: v for k, v in {**self.tolerance, **tolerance}.items() if v}
        assert allowed.keys() <= {"steps", "absolute", "relative", "of_largest"}, allowed
        self.cases.append({"op": op, "attrs": attrs, "source": source or self.source, "tolerance": allowed,
                           "inputs": [t and t.json(self.digits) for t in inputs],
                           "outputs": [t.json(self.digits) for t in outputs]})

    def write(self, name=None):
        """Writes the cases so far, beside the script, under its name or another."""
        versions = {p: sys.modules[p].__version__ for p in ("numpy", "onnx", "onnxruntime") if p in sys.modules}
        head = {"generator": self.script.name, "sha256": digest(self.script), "versions": versions}
        path = self.script.with_name(name) if name else self.script.with_suffix(".json")
        cases = ",\n".join(json.dumps(c, allow_nan=False) for c in self.cases)
        path.write_text(json.dumps(head)[:-1] + f', "cases": [\n{cases}\n]}}\n')
        print(f"{path.name}: {len(self.cases)} cases")
        self.cases.clear()


def model_of(kind, inputs, opset, outputs, attributes):
    """A model of one node over these arrays, None where one is left out, and what to feed it."""
    from onnx import helper
    inputs = [None if x is None else np.asarray(x) for x in inputs]
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    feed = {n: x for n, x in zip(names, inputs) if x is not None}
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(kind, names, results, **attributes)
    graph = helper.make_graph(
        [node], "golden",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in feed.items()],
        [helper.make_empty_tensor_value_info(n) for n in results])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), feed


def onnx_run(kind, inputs, opset=18, outputs=1, **attributes):
    """One node by ONNX's reference evaluator; an input None is left out. A list for several outputs."""
    from onnx.reference import ReferenceEvaluator
    model, feed = model_of(kind, inputs, opset, outputs, attributes)
    results = ReferenceEvaluator(model).run(None, feed)
    return results if outputs > 1 else results[0]


def runtime_run(kind, inputs, opset=18, outputs=1, **attributes):
    """One node by ONNX Runtime."""
    from onnxruntime import InferenceSession, SessionOptions
    model, feed = model_of(kind, inputs, opset, outputs, attributes)
    options = SessionOptions()
    options.log_severity_level = 3
    session = InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    results = session.run(None, feed)
    return results if outputs > 1 else results[0]
