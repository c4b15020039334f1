"""Tensors and cases of golden files in the form that tests/support/golden_reader.h reads.

Arrays have the usual order here (N, C, H, W), so that their flat values are in the order of the
tensors. Reals are dequantized and quantized by q = clip(rint(f32(y) * f32(1 / s) + zp)).
"""
import hashlib, json, pathlib
import numpy as np

F = np.float32
RANGE = {"u8": (0, 255), "i8": (-128, 127), "i16": (-32768, 32767), "i32": (-2**31, 2**31 - 1)}


class T:
    """A tensor: stored values with their meaning."""

    def __init__(self, dtype, q, scale=1.0, zp=0):
        self.dtype, self.q, self.zp, self.scale = dtype, np.asarray(q), zp, float(F(scale))

    def json(self):
        real = self.dtype == "f32"
        return {"dtype": self.dtype, "shape": list(self.q.shape[::-1]), "scale": self.scale,
                "zero_point": self.zp,
                "values": [float(f"{v:.9g}") if real else v.item() for v in self.q.ravel()]}

    def real(self):
        if self.dtype == "f32":
            return self.q.astype(F)
        return (self.q.astype(np.int64) - self.zp).astype(F) * F(self.scale)

    def like(self, q):
        """Other stored values with the same meaning."""
        return T(self.dtype, q, self.scale, self.zp)

    def of(self, y):
        """Real numbers stored as this tensor stores them."""
        if self.dtype == "f32":
            return T("f32", np.asarray(y))
        v = np.rint(np.asarray(y).astype(F) * F(1.0 / np.float64(F(self.scale))) + F(self.zp))
        return self.like(np.clip(v, *RANGE[self.dtype]).astype(np.int64))


class Golden:
    """The cases of one script, and what made them."""

    def __init__(self, script, seed, **versions):
        self.script, self.versions, self.cases = pathlib.Path(script), versions, []
        self.rng = np.random.default_rng(seed)

    def f32(self, *shape, lo=-2.0, hi=2.0):
        return T("f32", self.rng.uniform(lo, hi, shape).round(3).astype(F))

    def ints(self, dtype, *shape, scale=1.0, zp=0, lo=None, hi=None):
        least, most = RANGE[dtype]
        lo, hi = least if lo is None else lo, most if hi is None else hi
        return T(dtype, self.rng.integers(lo, hi + 1, shape), scale, zp)

    def add(self, op, attrs, inputs, outputs, source, relative=4e-7, steps=0):
        """`source`: who computed it. `relative`: allowed for floats, of the largest magnitude."""
        self.cases.append({"op": op, "attrs": attrs, "source": source, "relative": relative,
                           "steps": steps, "inputs": [t.json() for t in inputs],
                           "outputs": [t.json() for t in outputs]})

    def write(self):
        hashed = hashlib.sha256(self.script.read_bytes()).hexdigest()
        head = {"generator": self.script.name, "sha256": hashed,
                "versions": dict(self.versions, numpy=np.__version__)}
        text = ",\n".join(json.dumps(c) for c in self.cases)
        target = self.script.with_suffix(".json")
        target.write_text(json.dumps(head)[:-1] + ', "cases": [\n' + text + "\n]}\n")
        print(f"{target.name}: {len(self.cases)} cases")


def model_of(kind, inputs, opset, **attributes):
    """A model of one node over these arrays, None where one is left out, and what to feed it."""
    from onnx import TensorProto, helper
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    node = helper.make_node(kind, names, ["y"], **attributes)
    given = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), list(x.shape))
             for n, x in zip(names, inputs) if x is not None]
    result = helper.make_tensor_value_info("y", given[0].type.tensor_type.elem_type, None)
    graph = helper.make_graph([node], "golden", given, [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return model, {n: x for n, x in zip(names, inputs) if x is not None}


def onnx_run(kind, inputs, opset, **attributes):
    """One node by ONNX's reference evaluator; an input None is left out."""
    from onnx.reference import ReferenceEvaluator
    model, feed = model_of(kind, inputs, opset, **attributes)
    return ReferenceEvaluator(model).run(None, feed)[0]


def runtime_run(kind, inputs, opset, **attributes):
    """One node by ONNX Runtime."""
    from onnxruntime import InferenceSession
    model, feed = model_of(kind, inputs, opset, **attributes)
    session = InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feed)[0]
