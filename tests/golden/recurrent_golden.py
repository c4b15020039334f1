#!/usr/bin/env python3
"""Writes recurrent_golden.json: values of the recurrent ops, by onnxruntime where ONNX defines them, else by NumPy.

NumPy's formulas are those of NNAPI and TFLite, in float64. Sequences are (time, batch, feature) until `major`.
"""
import numpy as np
from golden import F, Golden, T, quantize, runtime_run

g = Golden(__file__, 2026, absolute=2e-6)
ints = g.ints
ORT, NUMPY = "onnxruntime", "numpy"


def f32(*shape, reach=1.0):
    return g.f32(*shape, lo=-reach, hi=reach)


def add(source, op, attrs, inputs, outputs):
    g.add(op, attrs, inputs, outputs, source)


def ort(kind, x, w, r, b, h, c=None, directions=1, **attrs):
    """One ONNX node on real arrays; directions first, as ONNX has it. Y is (time, direction, batch, unit)."""
    inputs = [v if v is None else v.astype(F) for v in (x, w, r, b, None, h, c)]
    return runtime_run(kind, inputs if c is not None else inputs[:-1], 14, outputs=3 if c is not None else 2,
                       hidden_size=r.shape[-1], direction="bidirectional" if directions == 2 else "forward", **attrs)


def major(x, time_major):
    """(time, batch, ...) as the op wants it."""
    return x if time_major else np.swapaxes(x, 0, 1)


def stack(parts):
    return np.stack([p.double() for p in parts])[None] if parts[0].q.ndim == 1 else np.concatenate([p.double() for p in parts])[None]


# ---- RNN

ONNX_ACT = {"TANH": "Tanh", "RELU": "Relu", "SIGMOID": "Sigmoid"}


def rnn_direction(i, u, b):
    return [f32(u, i, reach=0.7), f32(u, u, reach=0.5), f32(u, reach=0.5), f32(u, reach=0.5), f32(b, u)]


def ort_rnn(x, directions, act):
    w, r = (np.stack([d[k].double() for d in directions]) for k in (0, 1))
    b = np.stack([np.concatenate([d[2].double(), d[3].double()]) for d in directions])
    h = np.stack([d[4].double() for d in directions])
    return ort("RNN", x, w, r, b, h, directions=len(directions), activations=[ONNX_ACT[act]] * len(directions))


for act, time_major in (("TANH", True), ("RELU", False), ("SIGMOID", True)):
    x, d = f32(4, 2, 3), rnn_direction(3, 5, 2)
    y, yh = ort_rnn(x.q, [d], act)
    add(ORT, "UnidirectionalSequenceRnn", {"act_type": act, "time_major": time_major},
        [T("f32", major(x.q, time_major)), *d], [T("f32", yh[0]), T("f32", major(y[:, 0], time_major))])

    fw, bw = rnn_direction(3, 5, 2), rnn_direction(3, 5, 2)
    y, yh = ort_rnn(x.q, [fw, bw], act)
    bound = [T("f32", major(x.q, time_major)), *fw, *bw]
    add(ORT, "BidirectionalSequenceRnn", {"act_type": act, "time_major": time_major, "merge_outputs": False}, bound,
        [T("f32", yh[0]), T("f32", yh[1])] + [T("f32", major(y[:, k], time_major)) for k in (0, 1)])
    add(ORT, "BidirectionalSequenceRnn", {"act_type": act, "time_major": time_major, "merge_outputs": True}, bound,
        [T("f32", np.concatenate(yh, axis=-1)), T("f32", major(np.concatenate([y[:, 0], y[:, 1]], axis=-1), time_major))])

    for op, directions in (("UnidirectionalSequenceRnnExt", [fw]), ("BidirectionalSequenceRnnExt", [fw, bw])):
        y, yh = ort_rnn(x.q, directions, act)
        packed = [T("f32", np.stack([d[k].q for d in directions])) for k in (0, 1, 4)]
        bias = T("f32", np.stack([np.concatenate([d[2].q, d[3].q]) for d in directions]))
        add(ORT, op, {"act_type": act}, [x, packed[0], packed[1], bias, packed[2]], [T("f32", yh), T("f32", y)])


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


ACT = {"NONE": lambda v: v, "TANH": np.tanh, "SIGMOID": sigmoid, "RELU": lambda v: np.maximum(v, 0),
       "RELU1": lambda v: np.clip(v, -1, 1), "RELU6": lambda v: np.clip(v, 0, 6),
       "HARDSIGMOID": lambda v: np.clip(0.2 * v + 0.5, 0, 1)}


def numpy_rnn(x, d, act, aux=None, aux_weight=None):
    """Integer biases count in scale(x) * scale(weight_i), scale(h) * scale(weight_h)."""
    w, r, bi, bh, h = d
    biases = [b.q * float(F(data.scale) * F(weight.scale)) if b.dtype == "i32" else b.double()
              for b, data, weight in ((bi, x, w), (bh, h, r))]
    state, ys = h.double(), []
    for t in range(x.q.shape[0]):
        driven = x.double()[t] @ w.double().T + (0 if aux is None else aux.double()[t] @ aux_weight.double().T)
        state = ACT[act](driven + biases[0] + state @ r.double().T + biases[1])
        ys.append(state)
    return np.stack(ys), state


for act in ("NONE", "RELU1", "RELU6", "HARDSIGMOID"):
    x, d = f32(3, 2, 3, reach=3), rnn_direction(3, 4, 2)
    y, yh = numpy_rnn(x, d, act)
    add(NUMPY, "UnidirectionalSequenceRnn", {"act_type": act, "time_major": True}, [x, *d], [T("f32", yh), T("f32", y)])
x = ints("u8", 3, 2, 4, scale=1 / 127, zp=128)
d = [ints("i8", 5, 4, scale=0.006), ints("i8", 5, 5, scale=0.006), ints("i32", 5, lo=-9000, hi=9000),
     ints("i32", 5, lo=-9000, hi=9000), ints("u8", 2, 5, scale=1 / 128, zp=120)]
y, yh = numpy_rnn(x, d, "TANH")
add(NUMPY, "UnidirectionalSequenceRnn", {"act_type": "TANH", "time_major": True}, [x, *d],
    [quantize(yh, "u8", 1 / 127, 128), quantize(y, "i8", 1 / 128, 0)])
packed = [T(t.dtype, t.q[None], t.scale, t.zp) for t in d]
bias = T("i32", np.concatenate([d[2].q, d[3].q])[None])
add(NUMPY, "UnidirectionalSequenceRnnExt", {"act_type": "TANH"}, [x, packed[0], packed[1], bias, packed[4]],
    [quantize(yh[None], "u8", 1 / 127, 128), quantize(y[:, None], "i8", 1 / 128, 0)])
e = [ints(t.dtype, *t.q.shape, scale=t.scale, zp=t.zp, lo=-9000 if t.dtype == "i32" else None, hi=9000 if t.dtype == "i32" else None)
     for t in d]
yb, hb = numpy_rnn(T(x.dtype, x.q[::-1], x.scale, x.zp), e, "TANH")
add(NUMPY, "BidirectionalSequenceRnn", {"act_type": "TANH", "time_major": True, "merge_outputs": True}, [x, *d, *e],
    [quantize(np.concatenate([yh, hb], axis=-1), "u8", 1 / 127, 128), quantize(np.concatenate([y, yb[::-1]], axis=-1), "i8", 1 / 128, 0)])
packed = [T(a.dtype, np.stack([a.q, b.q]), a.scale, a.zp) for a, b in zip(d, e)]
bias = T("i32", np.stack([np.concatenate([t[2].q, t[3].q]) for t in (d, e)]))
add(NUMPY, "BidirectionalSequenceRnnExt", {"act_type": "TANH"}, [x, packed[0], packed[1], bias, packed[4]],
    [quantize(np.stack([yh, hb]), "u8", 1 / 127, 128), quantize(np.stack([y, yb[::-1]], axis=1), "i8", 1 / 128, 0)])
fw, bw = rnn_direction(3, 4, 2), rnn_direction(3, 6, 2)
x, aux, fa, ba = f32(4, 2, 3), f32(4, 2, 7), f32(4, 7, reach=0.5), f32(6, 7, reach=0.5)
back = lambda t: T("f32", t.q[::-1])
yf, hf = numpy_rnn(x, fw, "TANH", aux, fa)
yb, hb = numpy_rnn(back(x), bw, "TANH", back(aux), ba)
add(NUMPY, "BidirectionalSequenceRnn", {"act_type": "TANH", "time_major": True, "merge_outputs": False},
    [x, *fw, *bw, aux, fa, ba], [T("f32", hf), T("f32", hb), T("f32", yf), T("f32", yb[::-1])])

# ---- GRU

def gru_operands(i, u, b):
    return ([f32(u, i, reach=0.7) for _ in range(3)], [f32(u, u, reach=0.5) for _ in range(3)],
            [f32(u, reach=0.5) for _ in range(3)], [f32(u, reach=0.5) for _ in range(3)], f32(b, u))


def ort_gru(x, w, r, b, d, h, after):
    bias = np.concatenate([*(t.double() for t in b), *(t.double() for t in d)])[None]
    return ort("GRU", x, stack(w), stack(r), bias, h.double()[None], linear_before_reset=int(after))


for after in (True, False):
    x, (w, r, b, d, h) = f32(1, 2, 3), gru_operands(3, 5, 2)
    y, yh = ort_gru(x.q, w, r, b, d, h, after)
    add(ORT, "GRUCell", {"num_units": 5, "reset_after": after}, [T("f32", x.q[0]), h, *w, *r, *b, *d],
        [T("f32", yh[0]), T("f32", yh[0])])
    for time_major, sequences in ((True, True), (False, True), (True, False), (False, False)):
        x, (w, r, b, d, h) = f32(4, 2, 3), gru_operands(3, 5, 2)
        y, yh = ort_gru(x.q, w, r, b, d, h, after)
        add(ORT, "UnidirectionalSequenceGRU",
            {"num_units": 5, "reset_after": after, "return_sequences": sequences, "time_major": time_major},
            [T("f32", major(x.q, time_major)), h, *w, *r, *b, *d],
            [T("f32", major(y[:, 0], time_major) if sequences else yh[0]), T("f32", yh[0])])


def numpy_gru(x, h, w, r, b, d, act, ract, after):
    """x and h are tensors of one step; integer biases as in numpy_rnn."""
    of = lambda bias, data, weight: bias.q * float(F(data.scale) * F(weight.scale)) if bias.dtype == "i32" else bias.double()
    wx = [x.double() @ w[g].double().T + of(b[g], x, w[g]) for g in range(3)]
    state = h.double()
    uh = [state @ r[g].double().T + of(d[g], h, r[g]) for g in range(3)]
    z, reset = (ACT[ract](wx[g] + uh[g]) for g in (0, 1))
    if after:
        candidate = ACT[act](wx[2] + reset * uh[2])
    else:
        candidate = ACT[act](wx[2] + (reset * state) @ r[2].double().T + of(d[2], h, r[2]))
    return (1 - z) * candidate + z * state


for act, ract, after in (("RELU", "HARDSIGMOID", True), ("SIGMOID", "TANH", False), ("RELU6", "NONE", True)):
    x, (w, r, b, d, h) = f32(2, 3), gru_operands(3, 5, 2)
    y = numpy_gru(x, h, w, r, b, d, act, ract, after)
    add(NUMPY, "GRUCell", {"num_units": 5, "activation": act, "recurrent_activation": ract, "reset_after": after},
        [x, h, *w, *r, *b, *d], [T("f32", y), T("f32", y)])
for after in (True, False):
    x, h = ints("u8", 2, 4, scale=1 / 127, zp=128), ints("u8", 2, 5, scale=1 / 128, zp=120)
    w, r = [ints("i8", 5, 4, scale=0.006) for _ in range(3)], [ints("i8", 5, 5, scale=0.007) for _ in range(3)]
    b, d = ([ints("i32", 5, lo=-9000, hi=9000) for _ in range(3)] for _ in range(2))
    y = numpy_gru(x, h, w, r, b, d, "TANH", "SIGMOID", after)
    add(NUMPY, "GRUCell", {"num_units": 5, "reset_after": after}, [x, h, *w, *r, *b, *d],
        [quantize(y, "u8", 1 / 127, 128), quantize(y, "i8", 1 / 128, 0)])
    add(NUMPY, "UnidirectionalSequenceGRU", {"num_units": 5, "reset_after": after},
        [T(x.dtype, x.q[None], x.scale, x.zp), h, *w, *r, *b, *d], [quantize(y, "u8", 1 / 127, 128), quantize(y, "i8", 1 / 128, 0)])

# ---- LSTM: gates in the order i f c o here, i o f c in ONNX

def lstm_operands(i, u, s=None, weight=None):
    weight = weight or (lambda *shape: f32(*shape, reach=0.7))
    return {"w": [weight(u, i) for _ in range(4)], "r": [weight(u, s or u) for _ in range(4)],
            "b": [f32(u, reach=0.5) for _ in range(4)]}


def ort_lstm(x, directions, hs, cs):
    order = (0, 3, 1, 2)
    w, r = (np.concatenate([stack([o[k][g] for g in order]) for o in directions]) for k in ("w", "r"))
    b = np.stack([np.concatenate([*(o["b"][g].double() for g in order), *(o["d"][g].double() if "d" in o else 0 * o["b"][g].double() for g in order)])
                  for o in directions])
    return ort("LSTM", x, w, r, b, np.stack([h.double() for h in hs]), np.stack([c.double() for c in cs]), directions=len(directions))


def lstm_inputs(x, h, c, o):
    four, three = [None] * 4, [None] * 3
    return [x, h, c, *o["w"], *o["r"], *o.get("p", three), *o["b"], o.get("projection"), o.get("projection_bias"),
            *o.get("n", four), o.get("aux"), *o.get("aux_weight", four), *o.get("d", four)]


def lstm_attrs(time_major=True, sequences=True, **more):
    return {"time_major": time_major, "return_sequences": sequences, **more}


for time_major, sequences in ((True, True), (False, True), (True, False), (False, False)):
    x, h, c, o = f32(4, 2, 3), f32(2, 5), f32(2, 5), lstm_operands(3, 5)
    if sequences:
        o["d"] = [f32(5, reach=0.5) for _ in range(4)]
    y, yh, yc = ort_lstm(x.q, [o], [h], [c])
    add(ORT, "UnidirectionalSequenceLstm", lstm_attrs(time_major, sequences),
        lstm_inputs(T("f32", major(x.q, time_major)), h, c, o),
        [T("f32", major(y[:, 0], time_major) if sequences else yh[0]), T("f32", yh[0]), T("f32", yc[0])])


def bi_inputs(x, fw, bw, hs, cs):
    four, three = [None] * 4, [None] * 3
    direction = lambda o: [*o["w"], *o["r"], *o.get("p", three), *o["b"], o.get("projection"), o.get("projection_bias")]
    return [x, *direction(fw), *direction(bw), hs[0], cs[0], hs[1], cs[1], None, *four, *four,
            *fw.get("n", four), *bw.get("n", four), *fw.get("d", four), *bw.get("d", four)]


for time_major, sequences in ((True, True), (False, True), (True, False)):
    x, hs, cs = f32(4, 2, 3), [f32(2, 5), f32(2, 5)], [f32(2, 5), f32(2, 5)]
    fw, bw = lstm_operands(3, 5), lstm_operands(3, 5)
    if time_major:
        for o in (fw, bw):
            o["d"] = [f32(5, reach=0.5) for _ in range(4)]
    y, yh, yc = ort_lstm(x.q, [fw, bw], hs, cs)
    out = [[T("f32", major(y[:, k], time_major) if sequences else yh[k]), T("f32", yh[k]), T("f32", yc[k])] for k in (0, 1)]
    add(ORT, "BidirectionalSequenceLstm", lstm_attrs(time_major, sequences),
        bi_inputs(T("f32", major(x.q, time_major)), fw, bw, hs, cs), out[0] + out[1])


def numpy_lstm(x, h, c, o, ract="SIGMOID", cell_clip=0.0, forget_bias=0.0):
    """All peepholes look at the previous cell state, as TIM-VX does it."""
    state, cell, ys = h.double(), c.double(), []
    coupled = o["w"][0] is None
    for t in range(x.q.shape[0]):
        gates = [None] * 4
        for g in range(1 if coupled else 0, 4):
            v = x.double()[t] @ o["w"][g].double().T + state @ o["r"][g].double().T
            if "aux" in o:
                v = v + o["aux"].double()[t] @ o["aux_weight"][g].double().T
            if "d" in o:
                v = v + o["d"][g].double()
            if "p" in o and g != 2:
                v = v + o["p"][min(g, 2)].double() * cell
            if "n" in o:
                v = (v - v.mean(-1, keepdims=True)) / np.sqrt(v.var(-1, keepdims=True) + 1e-8) * o["n"][g].double()
            gates[g] = v + o["b"][g].double()
        i, f, g, out = gates
        f = ACT[ract](f + forget_bias)
        i = 1 - f if coupled else ACT[ract](i)
        cell = f * cell + i * np.tanh(g)
        if cell_clip > 0:
            cell = np.clip(cell, -cell_clip, cell_clip)
        state = ACT[ract](out) * np.tanh(cell)
        if "projection" in o:
            state = state @ o["projection"].double().T + o["projection_bias"].double()
        ys.append(state)
    return np.stack(ys), state, cell


def couple(o):
    for k in ("w", "r", "b", "p", "n", "d", "aux_weight"):
        if k in o:
            o[k] = [None, *o[k][1:]]
    return o


def full(u, s, i=3):
    return {**lstm_operands(i, u, s), "p": [f32(u) for _ in range(3)], "n": [f32(u) for _ in range(4)],
            "projection": f32(s, u, reach=0.7), "projection_bias": f32(s, reach=0.5)}


def add_lstm(o, x, h, c, state_types=("f32", 1, 0), **attrs):
    y, yh, yc = numpy_lstm(x, h, c, o, attrs.get("recurrent_act_type", "SIGMOID"), attrs.get("cell_clip", 0.0), attrs.get("forget_bias", 0.0))
    add(NUMPY, "UnidirectionalSequenceLstm", lstm_attrs(**attrs), lstm_inputs(x, h, c, o),
        [quantize(y, *state_types), quantize(yh, *state_types), T("f32", yc)])


sizes = lambda u, s: (f32(3, 2, 3), f32(2, s), f32(2, u))
add_lstm(couple(lstm_operands(3, 5)), *sizes(5, 5))
add_lstm({**lstm_operands(3, 5), "p": [f32(5) for _ in range(3)]}, *sizes(5, 5))
add_lstm({**lstm_operands(3, 5, 2), "projection": f32(2, 5), "projection_bias": f32(2)}, *sizes(5, 2))
add_lstm({**lstm_operands(3, 5), "n": [f32(5) for _ in range(4)], "d": [f32(5) for _ in range(4)]}, *sizes(5, 5))
add_lstm({**lstm_operands(3, 5), "aux": f32(3, 2, 4), "aux_weight": [f32(5, 4) for _ in range(4)]}, *sizes(5, 5))
add_lstm(full(6, 4), *sizes(6, 4), cell_clip=0.25, forget_bias=1.0)
add_lstm(couple(full(6, 4)), *sizes(6, 4), recurrent_act_type="HARDSIGMOID", forget_bias=-0.5)
o = lstm_operands(3, 5, weight=lambda *shape: ints("i8", *shape, scale=0.006))
add_lstm(o, *sizes(5, 5))  # hybrid: integer weights
x, h, c = ints("u8", 3, 2, 3, scale=1 / 127, zp=128), ints("u8", 2, 5, scale=1 / 128, zp=120), f32(2, 5)
add_lstm(o, x, h, c, state_types=("u8", 1 / 127, 128))
x, hs, cs, fw, bw = f32(3, 2, 3), [f32(2, 4), f32(2, 5)], [f32(2, 6), f32(2, 5)], full(6, 4), lstm_operands(3, 5)
one, two = numpy_lstm(x, hs[0], cs[0], fw), numpy_lstm(T("f32", x.q[::-1]), hs[1], cs[1], bw)
add(NUMPY, "BidirectionalSequenceLstm", lstm_attrs(), bi_inputs(x, fw, bw, hs, cs),
    [T("f32", one[0]), T("f32", one[1]), T("f32", one[2]), T("f32", two[0][::-1]), T("f32", two[1]), T("f32", two[2])])

x, hs, cs = ints("u8", 3, 2, 3, scale=1 / 127, zp=128), [f32(2, 5), f32(2, 5)], [f32(2, 5), f32(2, 5)]
fw, bw = o, lstm_operands(3, 5, weight=lambda *shape: ints("i8", *shape, scale=0.007))
one, two = numpy_lstm(x, hs[0], cs[0], fw), numpy_lstm(T(x.dtype, x.q[::-1], x.scale, x.zp), hs[1], cs[1], bw)
add(NUMPY, "BidirectionalSequenceLstm", lstm_attrs(), bi_inputs(x, fw, bw, hs, cs),
    [quantize(one[0], "u8", 1 / 127, 128), T("f32", one[1]), T("f32", one[2]),
     quantize(two[0][::-1], "i8", 1 / 128, 0), T("f32", two[1]), T("f32", two[2])])

# ---- SVDF: one filter at a time

def svdf(x, state, wf, wt, bias, rank, memory):
    batch, filters = x.q.shape[0], wf.q.shape[0]
    lines = np.zeros((batch, filters, memory))
    if state is not None:
        given = state.q.reshape(batch, filters, -1)
        lines[:, :, memory - given.shape[2]:] = given
    lines = np.concatenate([lines[:, :, 1:], (x.q.astype(np.float64) @ wf.q.astype(np.float64).T)[:, :, None]], axis=2)
    products = (lines * wt.q.astype(np.float64)).sum(-1).reshape(batch, -1, rank).sum(-1)
    keep = memory if state is None else state.q.shape[1] // filters
    return products + (0 if bias is None else bias.q), lines[:, :, memory - keep:].reshape(batch, -1)


for rank, units, memory, keep, biased in ((1, 4, 10, 10, True), (2, 3, 6, 6, False), (2, 3, 6, 5, True), (3, 2, 4, 0, True)):
    x, filters = f32(2, 3), rank * units
    state = f32(2, filters * keep) if keep else None
    wf, wt, bias = f32(filters, 3), f32(filters, memory), f32(units) if biased else None
    y, after = svdf(x, state, wf, wt, bias, rank, memory)
    inputs = [x, state, wf, wt] + ([bias] if biased else [])
    add(NUMPY, "Svdf", {"rank": rank, "num_units": units, "spectrogram_length": memory}, inputs, [T("f32", y), T("f32", after)])

g.write()
