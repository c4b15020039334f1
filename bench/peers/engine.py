#!/usr/bin/env python3
"""One runtime with one model, kept alive: the driver (peers.py) starts one such process per engine and lets them take turns.

engine.py PEER MODEL INPUTS THREADS [KEY=VALUE...]
  PEER    onnxruntime, openvino, litert, ncnn or mnn; it decides which environment's Python has to run this file
  MODEL   the model file of that runtime
  INPUTS  an .npz file: arrays named 0, 1, ... in the order and with the shapes and types of the model's inputs

It answers one JSON line first: {"ready": true, "version": ..., "threads": ..., "settings": ...}; then one line per line of input:
  run N         {"wall_ms": [N times], "cpu_ms": CPU time of the whole process per run}
  outputs FILE  {"outputs": [shapes]}; the values are in FILE, float32, one output after the other
Anything that fails is {"error": ...}. Inputs are set before time counts, as long as the runtime can keep them.
"""
import json, sys, time, types

import numpy as np


def onnxruntime(model, inputs, threads, options):
    import onnxruntime as ort
    ort.set_default_logger_severity(4)
    settings = ort.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.inter_op_num_threads = 1
    settings.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = ort.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
    binding = session.io_binding()  # without it every run would copy inputs and allocate outputs
    kept = [ort.OrtValue.ortvalue_from_numpy(x) for x in inputs]
    for spec, value in zip(session.get_inputs(), kept):
        binding.bind_ortvalue_input(spec.name, value)
    for spec in session.get_outputs():
        binding.bind_output(spec.name, "cpu")
    run = lambda: session.run_with_iobinding(binding)
    run()
    results = binding.get_outputs()  # bound again as buffers, so that no later run allocates them
    for spec, value in zip(session.get_outputs(), results):
        binding.bind_ortvalue_output(spec.name, value)
    return types.SimpleNamespace(
        version=ort.__version__, settings="sequential, all graph optimisations, spinning (default), bound inputs and outputs", run=run,
        outputs=lambda: [value.numpy() for value in binding.get_outputs()], keep=(kept, results))


def openvino(model, inputs, threads, options):
    # Through the C library of the same wheel: the Python wrapper costs 10 us per run, as much as a small network.
    import ctypes, glob, importlib.metadata, importlib.util, os
    folder = importlib.util.find_spec("openvino").submodule_search_locations[0]
    lib = ctypes.CDLL(glob.glob(os.path.join(folder, "libs", "libopenvino_c.so*"))[0])
    lib.ov_get_last_err_msg.restype = ctypes.c_char_p

    def call(name, *arguments):
        if code := getattr(lib, name)(*arguments):
            raise RuntimeError(f"{name} returned {code}: {(lib.ov_get_last_err_msg() or b'').decode()[:300]}")

    def made(name, *arguments, kind=ctypes.c_void_p):
        """What the function writes to its last argument."""
        result = kind()
        call(name, *arguments, ctypes.byref(result))
        return result
    properties = {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1", "INFERENCE_NUM_THREADS": str(threads)}
    if options.get("precision"):
        properties["INFERENCE_PRECISION_HINT"] = options["precision"]
    words = [ctypes.c_char_p(w.encode()) for pair in properties.items() for w in pair]
    core, compiled = made("ov_core_create"), ctypes.c_void_p()
    call("ov_core_compile_model_from_file", core, ctypes.c_char_p(model.encode()), ctypes.c_char_p(b"CPU"),
         ctypes.c_size_t(len(words)), ctypes.byref(compiled), *words)
    precision = made("ov_compiled_model_get_property", compiled, ctypes.c_char_p(b"INFERENCE_PRECISION_HINT"), kind=ctypes.c_char_p)
    request = made("ov_compiled_model_create_infer_request", compiled)

    def view(tensor, shape, dtype):
        size = made("ov_tensor_get_byte_size", tensor, kind=ctypes.c_size_t).value
        bytes_ = (ctypes.c_uint8 * size).from_address(made("ov_tensor_data", tensor).value)
        return np.frombuffer(bytes_, dtype).reshape(shape)
    for at, x in enumerate(inputs):
        view(made("ov_infer_request_get_input_tensor_by_index", request, ctypes.c_size_t(at)), x.shape, x.dtype)[...] = x
    count = made("ov_compiled_model_outputs_size", compiled, kind=ctypes.c_size_t).value
    infer = lib.ov_infer_request_infer
    infer.argtypes = [ctypes.c_void_p]

    def run():
        if infer(request):
            raise RuntimeError(f"infer: {lib.ov_get_last_err_msg()}")
    return types.SimpleNamespace(
        version=importlib.metadata.version("openvino"), run=run,
        settings=", ".join(filter(None, ["latency hint, 1 stream, precision " + precision.value.decode(), options.get("note")])),
        outputs=lambda: [view(made("ov_infer_request_get_output_tensor_by_index", request, ctypes.c_size_t(i)), -1, np.float32).copy()
                         for i in range(count)], keep=core)


def litert(model, inputs, threads, options):
    import importlib.metadata
    from ai_edge_litert.interpreter import Interpreter
    interpreter = Interpreter(model_path=model, num_threads=threads)  # the XNNPACK delegate is its default
    interpreter.allocate_tensors()
    # Converters order inputs by name; ours are named input0, input1, ...
    details = sorted(interpreter.get_input_details(), key=lambda d: d["name"])
    for detail, x in zip(details, inputs):
        scale, zero = detail["quantization"]
        if detail["dtype"] in (np.int8, np.uint8) and x.dtype == np.float32:
            limits = np.iinfo(detail["dtype"])
            x = np.clip(np.rint(x / scale) + zero, limits.min, limits.max)
        interpreter.set_tensor(detail["index"], np.ascontiguousarray(x, detail["dtype"]))

    def outputs():
        found = []
        for detail in sorted(interpreter.get_output_details(), key=lambda d: d["name"]):
            y = interpreter.get_tensor(detail["index"])
            scale, zero = detail["quantization"]
            found.append((y.astype(np.float32) - zero) * scale if y.dtype in (np.int8, np.uint8) else y)
        return found
    return types.SimpleNamespace(version=importlib.metadata.version("ai-edge-litert"), settings="XNNPACK delegate (default)",
                                 run=interpreter.invoke, outputs=outputs, reset=interpreter.reset_all_variables)


def ncnn(model, inputs, threads, options):
    import ncnn as nc
    net = nc.Net()
    net.opt.num_threads = threads
    net.opt.use_vulkan_compute = False
    # Half and bfloat16 storage is off: the row says fp32. Winograd, sgemm and packed layouts are on by default.
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = False
    if net.load_param(model) or net.load_model(model.replace(".param", ".bin")):
        raise RuntimeError(f"ncnn does not load {model}")
    mats = [nc.Mat(np.ascontiguousarray(x[0])).clone() for x in inputs]  # without the batch
    names, wanted = net.input_names(), net.output_names()
    last = []

    def run():
        extractor = net.create_extractor()
        for name, mat in zip(names, mats):
            extractor.input(name, mat)
        last[:] = []
        for name in wanted:
            code, out = extractor.extract(name)
            if code:
                raise RuntimeError(f"ncnn does not compute {name} (code {code})")
            last.append(out)
    return types.SimpleNamespace(version=nc.__version__, settings="fp32 storage, winograd, sgemm, packed layouts (default)", run=run,
                                 outputs=lambda: [np.array(out) for out in last], keep=mats)


def mnn(model, inputs, threads, options):
    import MNN, pathlib
    model = pathlib.Path(model)
    names = json.loads(model.with_name("mnn.json").read_text())
    note = f"{names['int8']}, " if model.stem.startswith("int8") and "int8" in names else ""
    config = {"backend": "CPU", "numThread": threads, "precision": "high", "power": "high"}  # its "low" may be half floats
    interpreter = MNN.Interpreter(str(model))
    session = interpreter.createSession(config)

    def host(shape, kind, values):
        return MNN.Tensor(tuple(shape), kind, np.ascontiguousarray(values), MNN.Tensor_DimensionType_Caffe)
    given = [(interpreter.getSessionInput(session, name), host(x.shape, MNN.Halide_Type_Float, x)) for name, x in zip(names["inputs"], inputs)]
    found = [interpreter.getSessionOutput(session, name) for name in names["outputs"]]
    got = [host(tensor.getShape(), MNN.Halide_Type_Float, np.zeros(tensor.getShape(), np.float32)) for tensor in found]

    def run():
        for tensor, x in given:  # it computes in the memory of its inputs, so every run needs them anew
            tensor.copyFrom(x)
        if interpreter.runSession(session):
            raise RuntimeError("runSession failed")
        for tensor, y in zip(found, got):  # from its own layout
            tensor.copyToHostTensor(y)
    return types.SimpleNamespace(
        version=MNN.version(), settings=f"precision high, power high, {note}inputs and outputs copied in every run", run=run,
        outputs=lambda: [np.array(y.getNumpyData(), np.float32) for y in got], keep=(given, found))


PEERS = {f.__name__: f for f in (onnxruntime, openvino, litert, ncnn, mnn)}


def answer(engine, line):
    words = line.split(None, 1)
    if words[0] == "run":
        clock, run, times = time.perf_counter_ns, engine.run, []
        before = time.process_time_ns()
        for _ in range(int(words[1])):
            start = clock()
            run()
            times.append((clock() - start) / 1e6)
        return {"wall_ms": times, "cpu_ms": (time.process_time_ns() - before) / 1e6 / len(times)}
    if words[0] == "outputs":
        getattr(engine, "reset", lambda: None)()  # states of recurrent layers that stay from run to run
        engine.run()
        values = engine.outputs()
        with open(words[1].strip(), "wb") as file:
            for value in values:
                file.write(np.ascontiguousarray(value, np.float32).tobytes())
        return {"outputs": [list(v.shape) for v in values]}
    raise ValueError(f"'{words[0]}' is neither run nor outputs")


def main(peer, model, inputs, threads, *options):
    def say(what):
        print(json.dumps(what), file=out, flush=True)
    # Runtimes write notices to the standard output; the protocol keeps a copy of it and sends the rest to the log.
    import os
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        with np.load(inputs) as stored:
            arrays = [stored[str(i)] for i in range(len(stored.files))]
        engine = PEERS[peer](model, arrays, int(threads), dict(o.split("=", 1) for o in options))
        engine.run()
    except BaseException as error:
        say({"error": f"{type(error).__name__}: {error}"})
        return 1
    say({"ready": True, "version": engine.version, "threads": int(threads), "settings": engine.settings})
    for line in sys.stdin:
        if not line.strip():
            continue
        try:
            say(answer(engine, line))
        except Exception as error:
            say({"error": f"{type(error).__name__}: {error}"})
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
