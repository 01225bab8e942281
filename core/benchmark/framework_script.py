"""The framework's own convolution, as a program for the person's interpreter: request as JSON on stdin, answers line by
line.

It imports none of our modules. Each framework has one function, which reports the framework's version, and returns
whether it computes on the GPU and how to prepare a convolution in one direction: a function that launches it ``count``
times and returns the milliseconds of one, a function that returns its result in NCHW order, and a function that names
the kernel that computes it, empty if the framework does not tell. Data are random, except for the small convolution,
whose numbers are given.
"""

from core.common.fact_text import fact_text
from core.probes.python.trials.script import ONNX_MODEL, SCRIPT_START

SAYS = (fact_text("a small convolution"), fact_text("this release cannot do without tf32"))
"""Sentences that the script prints."""

FRAMEWORK_SCRIPT = (
    SCRIPT_START
    + ONNX_MODEL
    + r'''
import random, time
started = time.monotonic()
KINDS = {"fp32": "float32", "tf32": "float32", "fp16": "float16", "bf16": "bfloat16"}


def torch(ask):
    import torch
    cuda, cudnn = torch.version.cuda or "", torch.backends.cudnn
    gpu = torch.cuda.is_available()
    emit(framework="torch " + torch.__version__, cuda=cuda, cudnn=str(cudnn.version() or "") if cuda else "")
    device = torch.device("cuda", ask["ordinal"]) if gpu else torch.device("cpu")
    cudnn.benchmark = True

    def data(dims, kind, last, values):
        if values:
            t = torch.tensor(values, device=device).reshape(dims)
        else:
            t = (torch.rand(dims, device=device) * 0.5 + 0.5) * (torch.randint(0, 2, dims, device=device) * 2 - 1)
        return t.to(kind).contiguous(memory_format=torch.channels_last if last else torch.contiguous_format)

    def prepare(p, values):
        cudnn.allow_tf32 = p["type"] != "fp32"
        kind = getattr(torch, KINDS[p["type"]])
        x, w = (data(d, kind, p["last"], v) for d, v in zip(p["dims"], values))
        forward = p["direction"] == "forward"
        y = None if forward else data(p["dims"][2], kind, p["last"], None)
        wanted = [p["direction"] == "data gradient", p["direction"] == "weight gradient", False]
        stride, pad, groups = [p["stride"]] * 2, [p["pad"]] * 2, p["groups"]

        def convolve():
            with torch.no_grad():
                if forward:
                    return torch.nn.functional.conv2d(x, w, stride=stride, padding=pad, groups=groups)
                return torch.ops.aten.convolution_backward(y, x, w, None, stride, pad, [1, 1], False, [0, 0], groups, wanted)

        def run(count):
            a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            a.record()
            for _ in range(count):
                convolve()
            b.record()
            b.synchronize()
            return a.elapsed_time(b) / count

        def kernel():
            from torch.profiler import ProfilerActivity, profile
            with profile(activities=[ProfilerActivity.CUDA]) as seen:
                convolve()
                torch.cuda.synchronize()
            ran = [e for e in seen.events() if e.device_type == torch.autograd.DeviceType.CUDA and not e.name.startswith("Mem")]
            return max(ran, key=lambda e: e.time_range.elapsed_us()).name if ran else ""

        return run, lambda: convolve().cpu().contiguous().double().flatten().tolist(), kernel

    return gpu, prepare


def tensorflow(ask):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    import tensorflow as tf
    info = dict(tf.sysconfig.get_build_info())
    cards = tf.config.list_physical_devices("GPU")
    cuda = str(info.get("cuda_version") or "") if tf.test.is_built_with_cuda() else ""
    emit(framework="tensorflow " + tf.__version__, cuda=cuda)
    for card in cards:
        tf.config.experimental.set_memory_growth(card, True)
    place = "/GPU:%d" % ask["ordinal"] if cards else "/CPU:0"

    def prepare(p, values):
        tf.config.experimental.enable_tensor_float_32_execution(p["type"] != "fp32")
        each = p["groups"] == p["dims"][0][1] and p["groups"] > 1
        with tf.device(place):
            kind = getattr(tf, KINDS[p["type"]])
            orders = (0, 2, 3, 1), (2, 3, 0, 1) if each else (2, 3, 1, 0)
            x, w = (tf.cast(tf.constant(data(d, v, o)), kind) for d, v, o in zip(p["dims"], values, orders))
        around = (p["pad"], p["pad"])
        pads, flat = ((0, 0), around, around, (0, 0)), (0, 0, *around, *around, 0, 0)
        strides, direction = (1, p["stride"], p["stride"], 1), p["direction"]
        if direction != "forward":
            with tf.device(place):
                y = tf.cast(tf.constant(data(p["dims"][2], None, (0, 2, 3, 1))), kind)

        def convolve():
            name = "DepthwiseConv2dNative" if each else "Conv2D"  # a filter of one channel has kernels of its own
            backward = dict(out_backprop=None, strides=strides, padding="EXPLICIT", explicit_paddings=flat)
            with tf.device(place):
                if direction == "data gradient":
                    return getattr(tf.raw_ops, name + "BackpropInput")(input_sizes=x.shape, filter=w, **dict(backward, out_backprop=y))
                if direction == "weight gradient":
                    return getattr(tf.raw_ops, name + "BackpropFilter")(input=x, filter_sizes=w.shape, **dict(backward, out_backprop=y))
                if each:
                    return tf.nn.depthwise_conv2d(x, w, strides, pads)
                return tf.nn.conv2d(x, w, strides, pads)

        def wait(y):
            return y[0, 0, 0, 0].numpy()

        result = lambda: tf.cast(tf.transpose(convolve(), (0, 3, 1, 2)), tf.float64).numpy().ravel().tolist()
        return by_clock(convolve, wait), result, lambda: ""

    return bool(cards), prepare


def jax(ask):
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import importlib.util, jax
    emit(framework="jax " + jax.__version__)
    cards = [d for d in jax.devices() if d.platform in ("gpu", "cuda", "rocm")]
    cuda = next((n for n in ("13", "12") if importlib.util.find_spec("jax_cuda%s_plugin" % n)), "")
    emit(cuda=cuda)
    device = cards[ask["ordinal"]] if cards else jax.devices("cpu")[0]

    def prepare(p, values):
        lax = jax.lax
        kind = getattr(jax.numpy, KINDS[p["type"]])
        orders = (0, 2, 3, 1), (2, 3, 1, 0)
        x, w = (jax.device_put(data(d, v, o), device).astype(kind) for d, v, o in zip(p["dims"], values, orders))
        precision = lax.Precision.HIGHEST if p["type"] == "fp32" else lax.Precision.DEFAULT
        pads, strides = [(p["pad"], p["pad"])] * 2, (p["stride"],) * 2

        def forward(a, b):
            return lax.conv_general_dilated(
                a, b, strides, pads, dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=p["groups"], precision=precision)

        given, step = (x, w), forward
        if p["direction"] != "forward":  # a convolution is linear in each of its inputs: the gradient is the transpose
            y = jax.device_put(data(p["dims"][2], None, (0, 2, 3, 1)), device).astype(kind)
            if p["direction"] == "data gradient":
                given, step = (y, w), lambda a, b: jax.linear_transpose(lambda x: forward(x, b), x)(a)[0]
            else:
                given, step = (x, y), lambda a, b: jax.linear_transpose(lambda w: forward(a, w), w)(b)[0]
        convolved = jax.jit(step)

        def kernel():
            import re
            text = convolved.lower(*given).compile().as_text()
            return ", ".join(dict.fromkeys(re.findall(r'custom_call_target="([^"]+)"', text))) or "XLA: no call of a library"

        result = lambda: convolved(*given).transpose(0, 3, 1, 2).astype("float32").ravel().tolist()
        return by_clock(lambda: convolved(*given), lambda y: y.block_until_ready()), result, kernel

    return bool(cards), prepare


def onnxruntime(ask):
    import numpy, onnxruntime as ort
    there = ort.get_available_providers()
    cuda = "CUDAExecutionProvider" in there
    emit(framework="onnxruntime " + ort.__version__, cuda=str(getattr(ort, "cuda_version", "") or ("yes" if cuda else "")))

    exact = tuple(int(n) for n in ort.__version__.split(".")[:2]) >= (1, 18)  # before, it knew no use_tf32

    def session(p, raw):
        out = tuple(p["dims"][2])
        options = {"device_id": str(ask["ordinal"])}
        if exact:
            options["use_tf32"] = "0" if p["type"] == "fp32" else "1"
        one = model(*p["dims"], raw, 10 if p["type"] == "fp16" else 1, p["pad"], p["groups"], p["stride"])
        wanted = [("CUDAExecutionProvider", options)] if cuda else []
        made = ort.InferenceSession(one, providers=[*wanted, "CPUExecutionProvider"])
        return made, "CUDAExecutionProvider" in made.get_providers(), out

    gpu = session(dict(ask["small"], type="fp32"), bytes(4 * ask["counts"][1]))[1]
    device, number = ("cuda", ask["ordinal"]) if gpu else ("cpu", 0)

    def prepare(p, values):
        if p["type"] == "fp32" and not (exact or values[0]):
            raise RuntimeError("this release cannot do without tf32")
        x, w = (data(d, v).astype(KINDS[p["type"]]) for d, v in zip(p["dims"], values))
        made, _, out = session(p, w.tobytes())
        binding, options = made.io_binding(), ort.RunOptions()
        a = ort.OrtValue.ortvalue_from_numpy(x, device, number)
        y = ort.OrtValue.ortvalue_from_shape_and_type(out, x.dtype.type, device, number)
        binding.bind_ortvalue_input("x", a)
        binding.bind_ortvalue_output("y", y)
        options.add_run_config_entry("disable_synchronize_execution_providers", "1")

        def result(kept=(x, a)):
            made.run_with_iobinding(binding)
            return y.numpy().astype("float64").ravel().tolist()

        # a value on the processor is numpy's own memory, which nothing else keeps
        def wait(_, kept=(x, a)):
            binding.synchronize_outputs()

        return by_clock(lambda: made.run_with_iobinding(binding, options), wait), result, lambda: ""

    return gpu, prepare


random_data = {}


def data(dims, values, order=(0, 1, 2, 3)):
    """Numbers in the order of memory that is asked for: those given, or random ones, which are kept for the next type."""
    import numpy
    if values:
        return numpy.ascontiguousarray(numpy.array(values, "float32").reshape(dims).transpose(order))
    dims = tuple(dims[i] for i in order)
    if dims not in random_data:
        r = numpy.random.RandomState(len(dims))
        period = r.uniform(0.5, 1, 65521) * r.choice((-1, 1), 65521)
        random_data[dims] = numpy.resize(period.astype("float32"), dims)
    return random_data[dims]


def by_clock(convolve, wait):
    """Frameworks that show no events are timed by the clock, with the launches that they make."""
    def run(count):
        start = time.perf_counter()
        for _ in range(count):
            y = convolve()
        wait(y)
        return (time.perf_counter() - start) * 1e3 / count

    return run


def now():
    return time.monotonic() - started


def timed(run, rest):
    run(3)
    once = run(3)
    count = max(1, min(1000, int(8 / max(once, 1e-3))))
    run(count)
    time.sleep(rest)
    start, times = time.monotonic(), []
    while more(times) and (len(times) < 3 or time.monotonic() - start < 1):
        times.append(run(count))
    return sorted(times)


def more(times):
    """Nine batches, and up to 45 where they differ: a card near its power limit changes its clocks all the time."""
    if len(times) < 9:
        return True
    a, b = sorted(times)[len(times) // 4], sorted(times)[3 * len(times) // 4]
    return len(times) < 45 and (b - a) / (a + b) > 0.01


def main(name):
    ask = json.loads(sys.stdin.read())
    emit(begin="import " + name, at=now())
    gpu, prepare = globals()[name](ask)
    emit(gpu=gpu, begin="a small convolution", at=now())
    chances = [random.Random(seed).choices((-1, 0, 1, 1, -1), k=n) for seed, n in enumerate(ask["counts"])]
    small = prepare(dict(ask["small"], type="fp32"), chances[:2])[1]()
    emit(small=[v if abs(v) < 1e30 else None for v in small])  # JSON knows no NaN
    last = begun = 0
    measured = []
    for n, p in enumerate(ask["timed"] if gpu or ask["anywhere"] else ()):
        last, begun = now() - begun, now()
        # the next one takes about as long as the last; the first of all loads libraries, too
        if n and begun + (last if n > 1 else 0) > ask["seconds"]:
            break
        emit(begin=p["words"], at=begun)
        try:
            emit(number=n, milliseconds=timed(prepare(p, (None, None))[0], ask["rest"]))
            measured.append(n)
        except Exception as e:  # what it cannot do is what is told of it
            emit(number=n, problem=error_text(e).splitlines()[0][:300])
    for n in measured if ask["kernels"] else ():  # after all figures: a profiler slows down what comes after it
        if now() > ask["seconds"]:
            break
        p = ask["timed"][n]
        emit(begin="the kernel: " + p["words"], at=now())
        try:
            emit(number=n, kernel=str(prepare(p, (None, None))[2]())[:200])
        except Exception:  # no profiler, or one that may not look: the figure stands without a name
            continue


try:
    main(sys.argv[1])
except Exception as e:  # the edge of the process: it becomes data
    emit(problem=error_text(e)[:600])
finally:
    emit(at=now())
    look()
leave()
'''
)
