"""The script that a trial passes with -c to the person's own interpreter; for any Python from 3.6 on."""

from core.probes.python.trials.failures import FAILURES
from core.probes.python.trials.program_start import PROGRAM_START
from core.probes.python.trials.surroundings import SURROUNDINGS

CHANGE_VARIABLE = "CONVALESCE_CHANGE"
"""The variable that tells a trial what to leave out, as JSON; the script removes it before anything else runs."""

SCRIPT_START = r"""
import json, os, sys
_out, _go = map(int, os.environ.pop("CONVALESCE_ANSWER").split(","))
if sys.platform == "win32":
    import ctypes, msvcrt
    for _handle in (_out, _go):
        os.set_handle_inheritable(_handle, False)
    _out, _go = (msvcrt.open_osfhandle(_handle, os.O_BINARY) for _handle in (_out, _go))
    ctypes.WinDLL("kernel32").SetErrorMode(0x8003)  # no dialog boxes
else:
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for _number in (_out, _go):
        os.set_inheritable(_number, False)
try:
    import faulthandler
    faulthandler.enable()  # says in which line the process ends
except Exception:  # stderr is closed, or is no file
    pass
_out = os.fdopen(_out, "wb", 0)


def clock():
    import time
    return getattr(time, "process_time", time.time)()  # a busy machine is no reason to try less


imported_at = 0.0


def emit(**said):
    global imported_at
    if said.get("stage") == "import":
        imported_at = clock()
    _out.write(("\n+" + json.dumps(said, ensure_ascii=False) + "\n").encode("utf-8", "replace"))


def look():
    _out.write(b"\n?\n")
    os.read(_go, 1)


def error_text(e):
    words = (type(e).__name__ + ": " + str(e)).encode("utf-8", "backslashreplace").decode("utf-8")
    return words if len(words) <= 4000 else words[:2000] + " ... " + words[-2000:]


def leave():
    # at once: taking down what was loaded takes 0.4 times as long as loading it, and some libraries crash then
    _out.write(b"\n.\n")
    try:
        import atexit, ctypes
        atexit._run_exitfuncs()  # what removes temporary files
        sys.stdout.flush()
        sys.stderr.flush()
        ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).fflush(None)
    finally:
        os._exit(0)
"""
"""Start of the script: the pipes of ``core.host.answer_pipe``, on which the parent reads events and between them the
mapped files; an exception's text.

The lines have the form that ``core.host.child`` reads. The script writes nothing: -B stores no byte code.
"""

ONNX_MODEL = r'''
def model(x, w, y, raw, kind, pad, groups, stride=1):
    """A model of one Conv node in ONNX's own form (protocol buffers), written by hand: shapes, the filters, their type."""
    def number(n):
        out = b""
        while n > 127:
            out, n = out + bytes([n & 127 | 128]), n >> 7
        return out + bytes([n])

    def field(at, value):
        if isinstance(value, int):
            return number(at << 3) + number(value)
        value = value.encode() if isinstance(value, str) else value
        return number(at << 3 | 2) + number(len(value)) + value

    def shaped(name, shape):
        dims = b"".join(field(1, field(1, n)) for n in shape)
        return field(1, name) + field(2, field(1, field(1, kind) + field(2, dims)))

    def attribute(name, value, several):  # AttributeProto: 3 one integer, 8 several; its type is 2 or 7
        numbers = b"".join(field(8, n) for n in value) if several else field(3, value)
        return field(5, field(1, name) + numbers + field(20, 7 if several else 2))

    weights = b"".join(field(1, n) for n in w) + field(2, kind) + field(8, "w") + field(9, raw)
    node = field(1, "x") + field(1, "w") + field(2, "y") + field(4, "Conv")
    node += attribute("pads", [pad] * 4, True) + attribute("group", groups, False) + attribute("strides", [stride] * 2, True)
    graph = field(1, node) + field(2, "g") + field(5, weights)
    graph += field(11, shaped("x", x)) + field(12, shaped("y", y))
    return field(1, 7) + field(7, graph) + field(8, field(2, 13))
'''
"""ONNX Runtime needs a model; onnx.proto defines the number of each field."""

_TRIALS = r'''
GENTLE = sys.argv[3:4] != ["at once"]  # else TensorFlow and JAX take the GPU's memory as they do by themselves


def close(one, other):
    import numpy
    one, other = numpy.asarray(one, dtype="float64"), numpy.asarray(other, dtype="float64")
    return one.shape == other.shape and bool(numpy.abs(one - other).max() <= 1e-2 * (1 + numpy.abs(other).max()))


def expected(x, w):
    """The convolution of one image and a 3 x 3 filter without padding, and both gradients of its sum, by hand."""
    import numpy
    n, c, h, v = x.shape
    k = w.shape[0]
    y, dx, dw = numpy.zeros((n, k, h - 2, v - 2)), numpy.zeros(x.shape), numpy.zeros(w.shape)
    for i in range(3):
        for j in range(3):
            part = x[:, :, i : i + h - 2, j : j + v - 2]
            y += numpy.einsum("ncab,kc->nkab", part, w[:, :, i, j])
            dw[:, :, i, j] += part.sum((0, 2, 3))[None, :]
            dx[:, :, i : i + h - 2, j : j + v - 2] += w[:, :, i, j].sum(0)[None, :, None, None]
    return y, dx, dw


def images():
    import numpy
    r = numpy.random.RandomState(0)
    return r.randn(2, 8, 16, 16).astype("float32"), r.randn(8, 8, 3, 3).astype("float32")


def torch():
    import torch
    cuda = getattr(torch.version, "cuda", None) or ""
    emit(stage="import", version=str(torch.__version__), cuda=cuda)
    count = torch.cuda.device_count()
    gpu = torch.cuda.is_available()
    emit(stage="devices", devices=count, device=torch.cuda.get_device_name(0) if gpu else "")
    if cuda:
        compiled = getattr(getattr(torch._C, "_cudnn", None), "getCompileVersion", None)
        if compiled:
            emit(cudnn_compiled=".".join(str(n) for n in compiled()))
    if gpu:
        emit(cudnn=str(torch.backends.cudnn.version() or ""))
        torch.backends.cudnn.allow_tf32 = False
    try:
        import numpy
    except ImportError:
        numpy = None
    torch.manual_seed(0)
    x, w = torch.randn(2, 8, 16, 16), torch.randn(8, 8, 3, 3)

    def run(device, kind):
        a = x.to(device, kind, copy=True).requires_grad_()
        b = w.to(device, kind, copy=True).requires_grad_()
        y = torch.nn.functional.conv2d(a, b)
        y.sum().backward()
        return [t.detach().to("cpu", torch.float64) for t in (y, a.grad, b.grad)]

    here = run("cuda" if gpu else "cpu", torch.float32)
    there = run("cpu", torch.float64)
    right = all(bool((p - q).abs().max() <= 1e-2 * (1 + q.abs().max())) for p, q in zip(here, there))
    emit(stage="convolution", gpu=gpu, right=right, backward=True)


def tensorflow():
    import tensorflow as tf
    info = dict(tf.sysconfig.get_build_info())
    cuda = str(info.get("cuda_version") or "") if tf.test.is_built_with_cuda() else ""
    emit(stage="import", version=str(tf.__version__), cuda=cuda, cudnn_compiled=str(info.get("cudnn_version") or ""))
    cards = tf.config.list_physical_devices("GPU")
    for card in cards if GENTLE else ():
        tf.config.experimental.set_memory_growth(card, True)
    emit(stage="devices", devices=len(cards), device=cards[0].name if cards else "")
    import numpy
    x, w = images()
    with tf.device("/GPU:0" if cards else "/CPU:0"), tf.GradientTape() as tape:
        a, b = tf.constant(x.transpose(0, 2, 3, 1)), tf.constant(w.transpose(2, 3, 1, 0))
        tape.watch((a, b))
        y = tf.nn.conv2d(a, b, 1, "VALID")
        total = tf.reduce_sum(y)
    da, db = tape.gradient(total, (a, b))
    got = (y.numpy().transpose(0, 3, 1, 2), da.numpy().transpose(0, 3, 1, 2), db.numpy().transpose(3, 2, 0, 1))
    emit(stage="convolution", gpu=bool(cards), backward=True, right=all(close(p, q) for p, q in zip(got, expected(x, w))))


def jax():
    if GENTLE:
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    emit(stage="import", version=str(jax.__version__))
    cards = [d for d in jax.devices() if d.platform in ("gpu", "cuda", "rocm")]
    emit(stage="devices", devices=len(cards), device=str(cards[0].device_kind) if cards else "")
    x, w = images()

    def convolved(a, b):
        return jax.lax.conv_general_dilated(a, b, (1, 1), "VALID", precision=jax.lax.Precision.HIGHEST)

    def all_of_it(a, b):
        y, back = jax.vjp(convolved, a, b)
        return (y, *back(jax.numpy.ones_like(y)))

    got = jax.jit(all_of_it)(x, w)  # compiled once: each operation by itself takes three times as long
    emit(stage="convolution", gpu=bool(cards), backward=True, right=all(close(p, q) for p, q in zip(got, expected(x, w))))


def onnxruntime():
    import onnxruntime as ort
    there = ort.get_available_providers()
    emit(stage="import", version=str(ort.__version__), cuda=getattr(ort, "cuda_version", "") or "")
    x, w = images()
    wanted = [p for p in ("CUDAExecutionProvider", "CPUExecutionProvider") if p in there]
    session = ort.InferenceSession(model(x.shape, w.shape, (2, 8, 14, 14), w.tobytes(), 1, 0, 1), providers=wanted)
    gpu = "CUDAExecutionProvider" in session.get_providers()
    emit(stage="devices", devices=1 if gpu else 0, device="")
    (y,) = session.run(None, {"x": x})
    emit(stage="convolution", gpu=gpu, right=close(y, expected(x, w)[0]))


def ctranslate2():
    import ctranslate2
    emit(stage="import", version=str(ctranslate2.__version__))
    emit(stage="devices", devices=ctranslate2.get_cuda_device_count(), device="")


KERNEL = """
extern "C" __global__ void convolved(const float* x, const float* w, float* y) {
    int at = blockDim.x * blockIdx.x + threadIdx.x;
    if (at >= 2 * 8 * 14 * 14) return;
    int column = at % 14, row = at / 14 % 14, out = at / 196 % 8, image = at / 1568;
    float sum = 0;
    for (int c = 0; c < 8; c++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                sum += x[((image * 8 + c) * 16 + row + i) * 16 + column + j] * w[((out * 8 + c) * 3 + i) * 3 + j];
    y[at] = sum;
}
"""


def cupy():
    import cupy
    emit(stage="import", version=str(cupy.__version__), cuda=str(cupy.cuda.runtime.runtimeGetVersion()))
    count = cupy.cuda.runtime.getDeviceCount()
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode("utf-8", "replace") if count else ""
    emit(stage="devices", devices=count, device=name)
    if count:
        x, w = images()
        y = cupy.empty((2, 8, 14, 14), dtype="float32")
        kernel = cupy.RawKernel(KERNEL, "convolved")
        kernel(((y.size + 127) // 128,), (128,), (cupy.asarray(x), cupy.asarray(w), y))
        emit(stage="convolution", gpu=True, right=close(cupy.asnumpy(y), expected(x, w)[0]))


def paddle():
    import paddle
    cuda = paddle.version.cuda() if paddle.device.is_compiled_with_cuda() else ""
    emit(stage="import", version=str(paddle.__version__), cuda=str(cuda or ""))
    count = paddle.device.cuda.device_count() if cuda else 0
    emit(stage="devices", devices=count, device="")
    x, w = images()
    a, b = paddle.to_tensor(x, stop_gradient=False), paddle.to_tensor(w, stop_gradient=False)
    y = paddle.nn.functional.conv2d(a, b)
    y.sum().backward()
    got = (y.numpy(), a.grad.numpy(), b.grad.numpy())
    emit(stage="convolution", gpu=count > 0, backward=True, right=all(close(p, q) for p, q in zip(got, expected(x, w))))


try:
    if sys.argv[2:3] > ['']:
        os.chdir(sys.argv[2])  # the entry '' of sys.path follows
    tell_surroundings()
    if sys.argv[1].startswith("import:"):
        import_only(sys.argv[1].partition(":")[2])
    elif sys.argv[1].startswith("program:"):
        program(sys.argv[1].partition(":")[2])
    else:
        globals()[sys.argv[1]]()
except BaseException as e:  # the edge of the trial's process: it becomes data, SystemExit, too
    emit(problem=error_text(e), winerror=getattr(e, "winerror", None) or 0)
    tell_surroundings()
    for row in failures(e):
        emit(failure=row)
finally:
    look()
if sys.argv[4:] and sys.argv[1] in sys.modules:
    import_packages(*sys.argv[4:])
leave()
'''
"""Each completed stage is emitted at once, so that a crash does not lose it; output of libraries goes to stderr."""

TRIAL_SCRIPT = SCRIPT_START + SURROUNDINGS + PROGRAM_START + ONNX_MODEL + FAILURES + _TRIALS
