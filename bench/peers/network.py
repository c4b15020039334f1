"""A network of bench/networks as the builders here see it. The module `networks` there makes weights, inputs and encodings."""
import json, pathlib, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "networks"))
import networks

PICTURE_OPS = {"conv", "max_pool", "resize_nearest"}  # their inputs and outputs are [batch, height, width, channels]
POINTWISE = {"add", "concat", "slice", "leaky_relu", "sigmoid", "tanh", "scale", "gelu"}  # pictures stay pictures


class Network:
    def __init__(self, path):
        self.text = json.loads(pathlib.Path(path).read_text("utf-8"))
        assert self.text["format"] == 1, f"{path}: format {self.text['format']} is unknown here"
        self.name, self.int8 = self.text["name"], self.text["int8"]
        self.shapes, self.layers, self.ranges = self.text["tensors"], self.text["layers"], self.text["ranges"]
        self.inputs, self.outputs = self.text["inputs"], self.text["outputs"]
        self.pictures = {name for name in self.inputs if len(self.shapes[name]) == 4}
        for layer in self.layers:
            if layer["op"] in PICTURE_OPS or layer["op"] in POINTWISE and layer["inputs"][0] in self.pictures:
                self.pictures.add(layer["output"])

    def weights(self, layer):
        return networks.weights(self.text, layer)

    def input(self, name):
        return networks.input_values(self.text, name)

    def encoding(self, name):
        """(scale, zero point) of the int8 form of a tensor."""
        return networks.encoding(self.text, name)
