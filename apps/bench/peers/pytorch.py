"""PyTorch on the device of `pnpm bench gpu`: cuBLAS for products, cuDNN or FlashAttention for attention.

Reads a task per line (JSON, `PeerTask` in src/gpu/kernel.ts) and answers each with a line: the seconds of single calls.
Calls of a run have operands of their own beyond the L2 cache, but for rows that they share, and are replayed as one CUDA graph.
"""
import json
import sys
import time


def say(answer):
    print(json.dumps(answer), flush=True)


try:
    import torch
    import torch.nn.functional as F
except ImportError as error:
    say({"skipped": f"Python has no PyTorch: {error}"})
    sys.exit()
if not torch.cuda.is_available():
    say({"skipped": "PyTorch finds no CUDA device"})
    sys.exit()

ROTATED_BYTES = 2**28
# A GPU that paused runs at a fraction of its clocks.
WARM_UP_SECONDS = 0.3


def operands(task):
    op = task["op"]
    if op == "matmul":
        dtype = torch.float16 if task["dtype"] == "f16" else torch.float32
        return [random(task["m"], task["k"], dtype=dtype), random(task["n"], task["k"], dtype=dtype)]
    if op == "attention":
        heads, kv, size = task["heads"], task["kvHeads"], task["size"]
        q = random(1, heads, task["tokens"], size, dtype=torch.bfloat16)
        return [q] + [random(1, kv, task["keys"], size, dtype=torch.bfloat16) for _ in range(2)]
    if op == "groupNorm":
        channels = task["shape"][1]
        return [random(*task["shape"]), random(channels), random(channels)]
    if op.endswith("Columns"):
        return [random(*task["shape"])]
    rows, columns = task["shape"]
    if op == "gather":
        return [random(rows, columns), torch.randperm(rows, device="cuda")]
    vectors = {"rmsNorm": 1, "layerNorm": 2}.get(op, 0)
    return [random(rows, columns) for _ in range(2 if op in ("add", "concat") else 1)] + [random(columns) for _ in range(vectors)]


def random(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def compute(task, x, *more):
    op = task["op"]
    if op == "matmul":
        return x @ more[0].T
    if op == "attention":
        is_causal = task["tokens"] > 1
        return F.scaled_dot_product_attention(x, *more, is_causal=is_causal, enable_gqa=True)
    if op == "relu":
        return torch.relu(x)
    if op == "add":
        return x + more[0]
    if op == "concat":
        return torch.cat([x, more[0]])
    if op == "copy":
        return x.clone()
    if op == "transpose":
        return x.t().contiguous()
    if op == "slice":
        return x[:, 32:-32].contiguous()
    if op == "gather":
        return torch.index_select(x, 0, more[0])
    if op == "sum":
        return x.sum()
    if op == "sumColumns":
        return x.sum(-2)
    if op == "softmaxColumns":
        return torch.softmax(x, -2)
    if op == "argmaxColumns":
        return torch.argmax(x, -2)
    if op == "cumsumColumns":
        return torch.cumsum(x, -2)
    if op == "groupNorm":
        return F.group_norm(x, 32, *more, 1e-5)
    if op == "cumsum":
        return torch.cumsum(x, -1)
    if op == "topK":
        return torch.topk(x, 32, -1)
    if op == "softmax":
        return torch.softmax(x, -1)
    if op == "rmsNorm":
        return F.rms_norm(x, x.shape[-1:], more[0], 1e-5)
    if op == "layerNorm":
        return F.layer_norm(x, x.shape[-1:], *more, 1e-5)
    return torch.argmax(x, -1)


def times(task):
    # f32 products are exact, as ours are.
    torch.backends.cuda.matmul.allow_tf32 = False
    first = operands(task)
    size = sum(x.numel() * x.element_size() for x in first)
    calls = max(2, min(64, -(-ROTATED_BYTES // size), 2**31 // size))
    sets = [first] + [operands(task) for _ in range(calls - 1)]
    if task.get("isShared"):
        sets = [[first[0], *more] for _, *more in sets]
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for each in sets[:2]:
            compute(task, *each)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = [compute(task, *each) for each in sets]
    end = time.monotonic() + WARM_UP_SECONDS
    while time.monotonic() < end:
        graph.replay()
        torch.cuda.synchronize()
    seconds = []
    for _ in range(task["samples"]):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        seconds.append(start.elapsed_time(end) / 1e3 / calls)
    del kept
    return seconds


say({"ready": f"PyTorch {torch.__version__}"})
for line in sys.stdin:
    try:
        say({"seconds": times(json.loads(line))})
    except Exception as error:
        say({"skipped": f"{type(error).__name__}: {str(error).splitlines()[0]}"})
    torch.cuda.empty_cache()
