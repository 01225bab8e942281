"""PyTorch's own convolution, as a program for the person's interpreter: asked by JSON on stdin, answers line by line.

It imports nothing of ours. Each line of its answer is one JSON object with the key that says what it is.
"""

SCRIPT = r"""
import json, random, statistics, sys, time

def say(**what):
    print("\n=" + json.dumps(what), flush=True)

def main():
    ask = json.load(sys.stdin)
    say(begin="import torch")
    import torch
    say(framework="torch " + torch.__version__, cudnn=torch.backends.cudnn.version(), cuda=torch.version.cuda)
    if not torch.cuda.is_available():
        return say(problem="PyTorch sees no GPU: torch.cuda.is_available() is False.")
    index = ask["ordinal"]
    for i in range(torch.cuda.device_count()):
        if ask["uuid"] and str(getattr(torch.cuda.get_device_properties(i), "uuid", "")).lower() in ask["uuid"].lower():
            index = i
    torch.cuda.set_device(index)
    torch.backends.cudnn.benchmark = True
    kinds = {"fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
    small = ask["small"]
    say(begin="a small convolution")
    values = [torch.tensor(random.Random(seed).choices((-1, 0, 1, 1, -1), k=n)) for seed, n in enumerate(small["counts"])]
    x, w = (v.reshape(d).cuda().float() for v, d in zip(values[:2], small["dims"]))
    torch.backends.cudnn.allow_tf32 = False
    y = torch.nn.functional.conv2d(x, w, padding=small["pad"])
    say(small=[float(v) for v in y.cpu().flatten()])
    end = time.monotonic() + ask["seconds"]
    for n, p in enumerate(ask["timed"]):
        if time.monotonic() > end:
            break
        say(begin=p["words"])
        try:
            say(number=n, milliseconds=timed(torch, p, kinds[p["type"]]))
        except RuntimeError as e:
            say(number=n, problem=str(e).splitlines()[0][:300])
    say(mapped=mapped())
    say(done=True)

def data(torch, dims, kind, last):
    t = (torch.rand(dims, device="cuda") * 0.5 + 0.5) * (torch.randint(0, 2, dims, device="cuda") * 2 - 1)
    return t.to(kind).contiguous(memory_format=torch.channels_last if last else torch.contiguous_format)

def timed(torch, p, kind):
    torch.backends.cudnn.allow_tf32 = p["type"] != "fp32"
    x, w = (data(torch, d, kind, p["last"]) for d in p["dims"])
    def run():
        return torch.nn.functional.conv2d(x, w, padding=p["pad"], groups=p["groups"])
    def batch(count):
        a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        a.record()
        for _ in range(count):
            run()
        b.record()
        b.synchronize()
        return a.elapsed_time(b) / count
    with torch.no_grad():
        batch(3)
        once = batch(3)
        count = max(1, min(1000, int(8 / max(once, 1e-3))))
        batch(count)
        start, times = time.monotonic(), []
        while len(times) < 9 and (len(times) < 3 or time.monotonic() - start < 1):
            times.append(batch(count))
    return sorted(times)

def mapped():
    try:
        with open("/proc/self/maps") as maps:
            return sorted({line.split(None, 5)[5].strip() for line in maps if line.count("/") and len(line.split(None, 5)) > 5})
    except OSError:
        return []

main()
"""
