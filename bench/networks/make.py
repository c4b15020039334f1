#!/usr/bin/env python3
"""Writes the networks of model_bench and of the peers, one JSON file each; README.md has the format.

  make.py            writes NAME.json and small/NAME.json beside this file; ranges and
                     expected values, which calibrate.py finds, are kept
  make.py --check    only says which files are not what would be written, by exit status 1
"""
import argparse
import json
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


class Network:
    """Collects layers and infers their shapes. A tensor is named after the layer that makes it."""

    def __init__(self, name, about, int8="all"):
        self.name, self.about, self.int8 = name, about, int8
        self.shapes, self.layers, self.inputs, self.outputs = {}, [], [], []
        self.macs = 0
        self.weights = 0

    def input(self, name, shape):
        self.shapes[name] = list(shape)
        self.inputs.append(name)
        return name

    def output(self, *names):
        self.outputs += names

    def layer(self, name, op, inputs, shape, macs=0, weights=0, **attributes):
        assert name not in self.shapes, name
        self.shapes[name] = [int(n) for n in shape]
        self.layers.append({"name": name, "op": op, "inputs": list(inputs), "output": name,
                            **attributes})
        self.macs += macs
        self.weights += weights
        return name

    def conv(self, name, x, filters, kernel, stride=1, pads="same", groups=1, activation="none",
             gain=None):
        n, h, w, c = self.shapes[x]
        kernel = [kernel, kernel] if isinstance(kernel, int) else kernel
        stride = [stride, stride] if isinstance(stride, int) else stride
        if pads == "same":  # TensorFlow's: the odd cell goes to the rear
            total = [max((math.ceil(i / s) - 1) * s + k - i, 0)
                     for i, k, s in zip((h, w), kernel, stride)]
            pads = [t // 2 for t in total] + [t - t // 2 for t in total]
        elif isinstance(pads, int):
            pads = [pads] * 4
        oh = (h + pads[0] + pads[2] - kernel[0]) // stride[0] + 1
        ow = (w + pads[1] + pads[3] - kernel[1]) // stride[1] + 1
        fan_in = kernel[0] * kernel[1] * c // groups
        return self.layer(name, "conv", [x], [n, oh, ow, filters],
                          macs=n * oh * ow * filters * fan_in, weights=(fan_in + 1) * filters,
                          filters=filters, kernel=kernel, stride=stride, pads=pads, groups=groups,
                          activation=activation, gain=gain or (1.0 if activation == "none" else 2.0))

    def depthwise(self, name, x, kernel, stride=1, **more):
        c = self.shapes[x][-1]
        return self.conv(name, x, c, kernel, stride, groups=c, **more)

    def dense(self, name, x, units, activation="none", gain=None, flatten=False):
        shape = self.shapes[x]
        fan_in = math.prod(shape[1:]) if flatten else shape[-1]
        out = [shape[0], units] if flatten else shape[:-1] + [units]
        return self.layer(name, "dense", [x], out, macs=math.prod(out) * fan_in,
                          weights=(fan_in + 1) * units, units=units, flatten=flatten,
                          activation=activation, gain=gain or (1.0 if activation == "none" else 2.0))

    def add(self, name, a, b, activation="none"):
        assert self.shapes[a] == self.shapes[b], (a, b)
        return self.layer(name, "add", [a, b], self.shapes[a], activation=activation)

    def pool(self, name, x, op, kernel, stride, pads=0):
        n, h, w, c = self.shapes[x]
        oh, ow = ((i + 2 * pads - kernel) // stride + 1 for i in (h, w))
        return self.layer(name, op, [x], [n, oh, ow, c], kernel=[kernel, kernel],
                          stride=[stride, stride], pads=[pads] * 4)

    def mean(self, name, x):
        """Over the picture, which also drops these two dimensions."""
        n, _, _, c = self.shapes[x]
        return self.layer(name, "global_mean", [x], [n, c])

    def unary(self, name, op, x, **attributes):
        return self.layer(name, op, [x], self.shapes[x], **attributes)

    def softmax(self, name, x):
        return self.unary(name, "softmax", x)

    def reshape(self, name, x, shape):
        assert math.prod(shape) == math.prod(self.shapes[x]), (name, shape)
        return self.layer(name, "reshape", [x], shape)

    def transpose(self, name, x, perm):
        return self.layer(name, "transpose", [x], [self.shapes[x][p] for p in perm],
                          perm=list(perm))

    def concat(self, name, xs, axis):
        shape = list(self.shapes[xs[0]])
        shape[axis] = sum(self.shapes[x][axis] for x in xs)
        return self.layer(name, "concat", xs, shape, axis=axis)

    def slice(self, name, x, begin, size):
        return self.layer(name, "slice", [x], size, begin=list(begin))

    def matmul(self, name, a, b, transpose_b=False):
        *batch, m, k = self.shapes[a]
        n = self.shapes[b][-2 if transpose_b else -1]
        return self.layer(name, "matmul", [a, b], batch + [m, n],
                          macs=math.prod(batch) * m * n * k, transpose_b=transpose_b)

    def layer_norm(self, name, x):
        return self.layer(name, "layer_norm", [x], self.shapes[x],
                          weights=2 * self.shapes[x][-1], epsilon=1e-12)

    def lstm(self, name, x, units):
        n, steps, c = self.shapes[x]
        weights = 4 * units * (c + units)
        return self.layer(name, "lstm", [x], [n, steps, units], macs=n * steps * weights,
                          weights=weights + 4 * units, units=units, gain=1.0)

    def text(self, found):
        """JSON with one layer or tensor per line, so that differences can be read. `found` has what
        calibrate.py finds out."""
        def table(entries):
            return "{\n" + ",\n".join(f"    {json.dumps(k)}: {json.dumps(v)}"
                                      for k, v in entries) + "\n  }" if entries else "{}"
        head = {"format": 1, "name": self.name, "about": self.about, "macs": self.macs,
                "parameters": self.weights, "int8": self.int8,
                "inputs": self.inputs, "outputs": self.outputs}
        lines = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in head.items()]
        lines.append('  "tensors": ' + table(list(self.shapes.items())))
        lines.append('  "layers": [\n' +
                     ",\n".join("    " + json.dumps(layer) for layer in self.layers) + "\n  ]")
        for key in ("ranges", "expected", "expected_int8"):
            known = found.get(key, {})
            lines.append(f'  "{key}": ' + table([(t, known[t]) for t in self.shapes if t in known]))
        return "{\n" + ",\n".join(lines) + "\n}\n"


def resnet50(side=224):
    n = Network("resnet50", f"ResNet-50 v1.5 (stride in the 3x3), {side}x{side}, to the logits; "
                "arXiv 1512.03385, torchvision")
    x = n.input("image", [1, side, side, 3])
    x = n.conv("stem", x, 64, 7, 2, pads=3, activation="relu")
    x = n.pool("stem_pool", x, "max_pool", 3, 2, pads=1)
    for stage, (width, blocks) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)], 1):
        for block in range(1, blocks + 1):
            at = f"s{stage}b{block}"
            stride = 2 if stage > 1 and block == 1 else 1
            skip = x
            if block == 1:
                skip = n.conv(f"{at}_skip", x, 4 * width, 1, stride, pads=0)
            y = n.conv(f"{at}_a", x, width, 1, pads=0, activation="relu")
            y = n.conv(f"{at}_b", y, width, 3, stride, pads=1, activation="relu")
            y = n.conv(f"{at}_c", y, 4 * width, 1, pads=0, gain=0.5)
            x = n.add(at, y, skip, activation="relu")
    n.output(n.dense("logits", n.mean("mean", x), 1000))
    return n


def inverted_residual(n, at, x, out, expand, kernel, stride):
    c = n.shapes[x][-1]
    y = x
    if expand != 1:
        y = n.conv(f"{at}_expand", y, c * expand, 1, activation="relu6")
    y = n.depthwise(f"{at}_depthwise", y, kernel, stride, activation="relu6")
    y = n.conv(f"{at}_project", y, out, 1)
    return n.add(at, y, x) if stride == 1 and c == out else y


def inverted_residuals(n, x, table):
    for stage, (expand, out, blocks, stride, kernel) in enumerate(table, 1):
        for block in range(1, blocks + 1):
            x = inverted_residual(n, f"s{stage}b{block}", x, out, expand, kernel,
                                  stride if block == 1 else 1)
    return x


def mobilenet_v2(side=224):
    n = Network("mobilenet_v2", f"MobileNetV2 1.0, {side}x{side}, to the logits; arXiv 1801.04381")
    x = n.conv("stem", n.input("image", [1, side, side, 3]), 32, 3, 2, activation="relu6")
    x = inverted_residuals(n, x, [(1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 32, 3, 2, 3),
                                  (6, 64, 4, 2, 3), (6, 96, 3, 1, 3), (6, 160, 3, 2, 3),
                                  (6, 320, 1, 1, 3)])
    x = n.conv("head", x, 1280, 1, activation="relu6")
    n.output(n.dense("logits", n.mean("mean", x), 1000))
    return n


def efficientnet_lite0(side=224):
    n = Network("efficientnet_lite0", f"EfficientNet-Lite0, {side}x{side}, to the logits; "
                "arXiv 1905.11946 without squeeze-and-excite, ReLU6")
    x = n.conv("stem", n.input("image", [1, side, side, 3]), 32, 3, 2, activation="relu6")
    x = inverted_residuals(n, x, [(1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5),
                                  (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5),
                                  (6, 320, 1, 1, 3)])
    x = n.conv("head", x, 1280, 1, activation="relu6")
    n.output(n.dense("logits", n.mean("mean", x), 1000))
    return n


def separable(n, at, x, out, stride=1, activation="relu6"):
    x = n.depthwise(f"{at}_depthwise", x, 3, stride, activation=activation)
    return n.conv(f"{at}_pointwise", x, out, 1, activation=activation)


def ssd_mobilenet_v1(side=300):
    n = Network("ssd_mobilenet_v1", f"SSD with MobileNetV1 1.0, {side}x{side}, 91 classes, to box "
                "encodings and class scores (no non-maximum suppression); TensorFlow's "
                "ssd_mobilenet_v1_coco, arXiv 1512.02325")
    x = n.conv("stem", n.input("image", [1, side, side, 3]), 32, 3, 2, activation="relu6")
    features = []
    for i, (out, stride) in enumerate([(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2),
                                       (512, 1), (512, 1), (512, 1), (512, 1), (512, 1), (1024, 2),
                                       (1024, 1)], 1):
        x = separable(n, f"block{i}", x, out, stride)
        if i in (11, 13):
            features.append(x)
    for i, (squeeze, out) in enumerate([(256, 512), (128, 256), (128, 256), (64, 128)], 1):
        x = n.conv(f"extra{i}_squeeze", x, squeeze, 1, activation="relu6")
        x = n.conv(f"extra{i}", x, out, 3, 2, activation="relu6")
        features.append(x)
    boxes, classes = [], []
    for i, x in enumerate(features, 1):
        anchors = 3 if i == 1 else 6
        _, h, w, _ = n.shapes[x]
        for kind, size, made in (("boxes", 4, boxes), ("classes", 91, classes)):
            y = n.conv(f"{kind}{i}_conv", x, anchors * size, 1)
            made.append(n.reshape(f"{kind}{i}", y, [1, h * w * anchors, size]))
    n.output(n.concat("boxes", boxes, 1))
    n.output(n.unary("scores", "sigmoid", n.concat("classes", classes, 1)))
    return n


def yolov4_tiny(side=416):
    n = Network("yolov4_tiny", f"YOLOv4-tiny, {side}x{side}, 80 classes, to the two raw heads; "
                "Darknet's yolov4-tiny.cfg, arXiv 2011.08036")

    def conv(name, x, filters, kernel, stride=1):
        y = n.conv(f"{name}_conv", x, filters, kernel, stride, pads=kernel // 2, gain=2.0)
        return n.unary(name, "leaky_relu", y, alpha=0.1)

    x = conv("stem1", n.input("image", [1, side, side, 3]), 32, 3, 2)
    x = conv("stem2", x, 64, 3, 2)
    for i, width in enumerate((64, 128, 256), 1):
        first = conv(f"csp{i}_first", x, width, 3)
        _, h, w, _ = n.shapes[first]
        half = n.slice(f"csp{i}_half", first, [0, 0, 0, width // 2], [1, h, w, width // 2])
        a = conv(f"csp{i}_a", half, width // 2, 3)
        b = conv(f"csp{i}_b", a, width // 2, 3)
        last = conv(f"csp{i}_last", n.concat(f"csp{i}_inner", [b, a], 3), width, 1)
        x = n.pool(f"csp{i}_pool", n.concat(f"csp{i}", [first, last], 3), "max_pool", 2, 2)
    x = conv("neck1", x, 512, 3)
    neck = conv("neck2", x, 256, 1)
    large = conv("large", neck, 512, 3)
    n.output(n.conv("large_head", large, 255, 1, pads=0))
    up = conv("small_up", neck, 128, 1)
    _, h, w, c = n.shapes[up]
    up = n.layer("small_upsampled", "resize_nearest", [up], [1, 2 * h, 2 * w, c], factor=2)
    small = conv("small", n.concat("small_in", [up, last], 3), 256, 3)
    n.output(n.conv("small_head", small, 255, 1, pads=0))
    return n


def bert_base(sequence=128, layers=12):
    n = Network("bert_base", f"BERT-base encoder, sequence {sequence}, {layers} layers, from the "
                "sum of the embeddings, no mask; arXiv 1810.04805", int8="dense")
    width, heads = 768, 12
    x = n.layer_norm("embedding_norm", n.input("embeddings", [1, sequence, width]))
    for i in range(1, layers + 1):
        at = f"l{i}"

        def split(what, gain):
            y = n.dense(f"{at}_{what}_dense", x, width, gain=gain)
            y = n.reshape(f"{at}_{what}_heads", y, [1, sequence, heads, width // heads])
            return n.transpose(f"{at}_{what}", y, [0, 2, 1, 3])

        # Queries and keys are large enough for the softmax to prefer some positions.
        q, k, v = split("query", 2.0), split("key", 2.0), split("value", 1.0)
        y = n.matmul(f"{at}_scores", q, k, transpose_b=True)
        y = n.softmax(f"{at}_attention", n.unary(f"{at}_scaled", "scale", y, factor=0.125))
        y = n.transpose(f"{at}_mixed", n.matmul(f"{at}_mix", y, v), [0, 2, 1, 3])
        y = n.dense(f"{at}_attended", n.reshape(f"{at}_joined", y, [1, sequence, width]), width)
        x = n.layer_norm(f"{at}_attention_norm", n.add(f"{at}_attention_add", y, x))
        y = n.dense(f"{at}_inner_dense", x, 4 * width)
        y = n.dense(f"{at}_outer", n.unary(f"{at}_inner", "gelu", y), width, gain=2.0)
        x = n.layer_norm(f"{at}_norm", n.add(f"{at}_add", y, x))
    n.output(x)
    return n


def lstm(steps=100):
    n = Network("lstm", f"2 LSTM layers, batch 1, {steps} steps, 128 inputs, 256 units; all steps "
                "are put out", int8="lstm")
    x = n.input("sequence", [1, steps, 128])
    n.output(n.lstm("lstm2", n.lstm("lstm1", x, 256), 256))
    return n


def lenet():
    n = Network("lenet", "LeNet of Caffe and of the TIM-VX sample: 28x28, 20 and 50 channels")
    x = n.conv("conv1", n.input("image", [1, 28, 28, 1]), 20, 5, pads=0)
    x = n.pool("pool1", x, "max_pool", 2, 2)
    x = n.pool("pool2", n.conv("conv2", x, 50, 5, pads=0), "max_pool", 2, 2)
    x = n.dense("dense1", x, 500, activation="relu", flatten=True)
    n.output(n.softmax("digits", n.dense("logits", x, 10, gain=2.0)))
    return n


def resnet8():
    n = Network("resnet8", "MLPerf Tiny image classification: ResNet-8, 32x32, 10 classes")
    x = n.conv("stem", n.input("image", [1, 32, 32, 3]), 16, 3, activation="relu")
    for stage, width in enumerate((16, 32, 64), 1):
        stride = 1 if stage == 1 else 2
        y = n.conv(f"s{stage}_a", x, width, 3, stride, activation="relu")
        y = n.conv(f"s{stage}_b", y, width, 3, gain=0.5)
        if stride != 1:
            x = n.conv(f"s{stage}_skip", x, width, 1, stride)
        x = n.add(f"s{stage}", y, x, activation="relu")
    n.output(n.softmax("classes", n.dense("logits", n.mean("mean", x), 10, gain=2.0)))
    return n


def mobilenet_v1_025():
    n = Network("mobilenet_v1_025", "MLPerf Tiny visual wake words: MobileNetV1 0.25, 96x96, "
                "2 classes")
    x = n.conv("stem", n.input("image", [1, 96, 96, 3]), 8, 3, 2, activation="relu")
    for i, (out, stride) in enumerate([(16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2),
                                       (128, 1), (128, 1), (128, 1), (128, 1), (128, 1), (256, 2),
                                       (256, 1)], 1):
        x = separable(n, f"block{i}", x, out, stride, activation="relu")
    n.output(n.softmax("classes", n.dense("logits", n.mean("mean", x), 2, gain=2.0)))
    return n


def ds_cnn():
    n = Network("ds_cnn", "MLPerf Tiny keyword spotting: DS-CNN, 49x10, 12 classes")
    x = n.conv("stem", n.input("features", [1, 49, 10, 1]), 64, [10, 4], 2, activation="relu")
    for i in range(1, 5):
        x = separable(n, f"block{i}", x, 64, activation="relu")
    n.output(n.softmax("keywords", n.dense("logits", n.mean("mean", x), 12, gain=2.0)))
    return n


def autoencoder():
    n = Network("autoencoder", "MLPerf Tiny anomaly detection: autoencoder, 640 inputs")
    x = n.input("features", [1, 640])
    for i, units in enumerate([128] * 4 + [8] + [128] * 4, 1):
        x = n.dense(f"dense{i}", x, units, activation="relu")
    n.output(n.dense("reconstruction", x, 640))
    return n


NETWORKS = [resnet50, mobilenet_v2, efficientnet_lite0, ssd_mobilenet_v1, yolov4_tiny, bert_base,
            lstm, lenet, resnet8, mobilenet_v1_025, ds_cnn, autoencoder]
# The same layers on less data, which the scalar reference backend computes in seconds.
SMALL = {"resnet50": lambda: resnet50(32), "mobilenet_v2": lambda: mobilenet_v2(64),
         "efficientnet_lite0": lambda: efficientnet_lite0(64),
         "ssd_mobilenet_v1": lambda: ssd_mobilenet_v1(60), "yolov4_tiny": lambda: yolov4_tiny(64),
         "bert_base": lambda: bert_base(sequence=9, layers=2), "lstm": lambda: lstm(steps=5)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    (HERE / "small").mkdir(exist_ok=True)
    files = [(HERE / f"{make.__name__}.json", make) for make in NETWORKS]
    files += [(HERE / "small" / f"{name}.json", make) for name, make in SMALL.items()]
    stale = []
    for path, make in files:
        network = make()
        old = path.read_text() if path.exists() else ""
        text = network.text(json.loads(old) if old else {})
        if text != old:
            stale.append(path)
            if not check:
                path.write_text(text)
        if not check:
            print(f"{path.relative_to(HERE)}: {len(network.layers)} layers, "
                  f"{network.macs / 1e6:.2f} M multiplications, "
                  f"{network.weights / 1e6:.3f} M parameters")
    if check and stale:
        sys.exit("stale, run bench/networks/make.py: " + " ".join(map(str, stale)))


if __name__ == "__main__":
    main()
