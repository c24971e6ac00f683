"""Turns node tests of the package onnx into cases.json: see README.md.

A rule per ONNX operator says which of our steps it is, or None where a mode of it is not one of ours.
"""
import os
import re
import sys
import warnings

import numpy as np
import onnx
from onnx import helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import case_file   # noqa: E402

warnings.filterwarnings("ignore")   # of what the package computes on purpose: log of 0 and the like

MOST_NUMBERS = 1500   # of a case, inputs and result together
# The same as other cases with other random numbers, or with a second result that is not ours.
REPEATED = re.compile("|".join([
    "attention_3d_(diff|scaled|softcap|attn_mask|gqa_|with_past)", "attention.*qk_matmul(_bias|_softmax|$)",
    "attention_4d_(gqa|diff_heads)_sizes_|attention_4d_gqa_with.*fp16", "normalization.*_negative_"]))
EXACT = (0.0, 0.0)
CLOSE = (1e-6, 1e-6)      # absolute, relative: both sides round F32 results of a few operations
SUMMED = (2e-6, 2e-6)
HALF = (1e-3, 1e-3)       # ONNX computes in half precision throughout


class Node:
    """One node test: ins and outs as arrays, attributes by name."""

    def __init__(self, test):
        node = test.model.graph.node[0]
        self.name, self.op = test.name.removeprefix("test_"), node.op_type
        self.attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        given = iter(test.data_sets[0][0])
        self.ins = [array_of(next(given)) if name else None for name in node.input]
        self.outs = [array_of(a) for a in test.data_sets[0][1]]

    def get(self, name, default=None):
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def given(self, i):
        return self.ins[i] if i < len(self.ins) else None


def array_of(value):
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def is_f32(*arrays):
    return all(a is None or a.dtype == np.float32 for a in arrays)


def dim_of(axis, rank):
    return rank - 1 - axis % rank


RULES = {}


def rule(*operators):
    def keep(function):
        RULES.update(dict.fromkeys(operators, function))
        return function
    return keep


def elementwise(op, tolerance, **attributes):
    def make(node, case):
        a, b = node.ins[0], node.given(1)
        if not is_f32(a, b) or a.shape != node.outs[0].shape:
            return None
        operands = [case.input(x) for x in (a, b) if x is not None]
        return case.step(op, operands, **attributes), tolerance
    return make


for name, op, tolerance in [
        ("Add", "add", EXACT), ("Sub", "sub", EXACT), ("Mul", "mul", EXACT), ("Div", "div", CLOSE),
        ("Neg", "neg", EXACT), ("Abs", "abs", EXACT), ("Sqrt", "sqrt", CLOSE), ("Exp", "exp", CLOSE),
        ("Log", "log", CLOSE), ("Sin", "sin", CLOSE), ("Cos", "cos", CLOSE), ("Tanh", "tanh", CLOSE),
        ("Sigmoid", "sigmoid", CLOSE), ("Relu", "relu", EXACT)]:
    RULES[name] = elementwise(op, tolerance)


@rule("Gelu")
def gelu(node, case):
    op = "gelu" if node.get("approximate") == "tanh" else "gelu_erf"
    return elementwise(op, CLOSE)(node, case)


@rule("Swish")
def swish(node, case):
    return elementwise("silu", CLOSE)(node, case) if node.get("alpha", 1.0) == 1 else None


@rule("Clip")
def clip(node, case):
    low, high = node.given(1), node.given(2)
    if not is_f32(node.ins[0]) or (low is not None and high is not None and low > high):
        return None
    return case.step("clamp", [case.input(node.ins[0])],
                     min=float("-inf" if low is None else low),
                     max=float("inf" if high is None else high)), EXACT


@rule("ReduceSum", "ReduceMean", "ReduceMax")
def reduce(node, case):
    x, axes = node.ins[0], node.given(1)
    if not is_f32(x) or x.size == 0 or node.get("noop_with_empty_axes"):
        return None
    axes = range(x.ndim) if axes is None or axes.size == 0 else axes.tolist()
    value = case.input(x)
    for axis in axes:
        d = dim_of(axis, x.ndim)
        dims = list(case.dims[value])
        dims[d] = 1
        value = case.step(node.op.removeprefix("Reduce").lower(), [value], dims, axis=d)
    if node.outs[0].ndim != x.ndim:
        value = case.reshape(value, node.outs[0].shape[::-1] or [1])
    return value, CLOSE


@rule("CumSum")
def cumsum(node, case):
    x = node.ins[0].astype(np.float32)   # F64 of small whole numbers
    if node.ins[0].dtype != np.float64 or node.get("exclusive") or node.get("reverse"):
        return None
    node.outs[0] = node.outs[0].astype(np.float32)
    return case.step("cumsum", [case.input(x)], axis=dim_of(int(node.ins[1]), x.ndim)), EXACT


@rule("ArgMax")
def argmax(node, case):
    x = node.ins[0]
    if node.get("select_last_index"):
        return None
    value, back = case.to_front(case.input(x), dim_of(node.get("axis", 0), x.ndim))
    value = case.step("argmax", [value], [1] + case.dims[value][1:])
    value = case.permute(value, back)
    node.outs[0] = node.outs[0].astype(np.int32)
    if not node.get("keepdims", 1):
        value = case.reshape(case.convert(value, "I32"), node.outs[0].shape[::-1])
    return value, EXACT


@rule("TopK")
def top_k(node, case):
    x, k = node.ins[0], int(node.ins[1][0])
    if x.dtype == np.int64:   # small whole numbers
        x = x.astype(np.float32)
    if not is_f32(x) or node.get("axis", -1) % x.ndim != x.ndim - 1:
        return None
    value, largest = case.input(x), node.get("largest", 1)
    node.outs[0] = node.outs[1].astype(np.int32)
    dims = [k] + case.dims[value][1:]
    if largest and "same" not in node.name:
        return case.step("top_k", [value], dims, k=k), EXACT
    value = case.step("argsort", [value], order=1 if largest else 0)
    return case.slice(value, [0], dims), EXACT


def normed(op, operands):
    """x with the dims from `axis` on as one row; weight and bias the same way."""
    def make(node, case):
        x, outs = node.ins[0], node.outs
        axis = node.get("axis", -1) % x.ndim
        row = int(np.prod(x.shape[axis:]))
        inputs = [case.input(a) for a in node.ins[:operands]]
        values = [case.reshape(inputs[0], [row, x.size // row])]
        values += [case.reshape(i, [row]) for i in inputs[1:]]
        value = case.step(op, values, eps=float(node.get("epsilon", 1e-5)))
        return case.reshape(value, outs[0].shape[::-1]), SUMMED
    return make


RULES["LayerNormalization"] = normed("layer_norm", 3)
RULES["RMSNormalization"] = normed("rms_norm", 2)


@rule("GroupNormalization", "InstanceNormalization")
def group_norm(node, case):
    x = node.ins[0]
    inputs = [case.input(a) for a in node.ins]
    groups = node.get("num_groups", x.shape[1])
    return case.step("group_norm", inputs, groups=groups,
                     eps=float(node.get("epsilon", 1e-5))), SUMMED


@rule("LpNormalization")
def l2_norm(node, case):
    x = node.ins[0]
    if node.get("p", 2) != 2:
        return None
    value, back = case.to_front(case.input(x), dim_of(node.get("axis", -1), x.ndim))
    return case.permute(case.step("l2_norm", [value], eps=1e-30), back), CLOSE


@rule("Softmax")
def softmax(node, case):
    x = node.ins[0]
    value, back = case.to_front(case.input(x), dim_of(node.get("axis", -1), x.ndim))
    return case.permute(case.step("softmax", [value], scale=1.0), back), CLOSE


@rule("MatMul")
def matmul(node, case):
    a, b = node.ins
    one_row, one_column = a.ndim == 1, b.ndim == 1
    a = a[None, :] if one_row else a
    b = b[:, None] if one_column else b
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x, w = case.input(a), case.input(b)
    if tuple(a.shape[:-2]) != batch:
        x = case.broadcast(case.reshape(x, list(a.shape[::-1]) + [1] * (len(batch) + 2 - a.ndim)),
                           list(a.shape[:-3:-1]) + list(batch[::-1]))
    w = case.permute(w, [1, 0] + list(range(2, b.ndim)))
    value = case.step("matmul", [x, w], [b.shape[-1], a.shape[-2]] + list(batch[::-1]))
    return case.reshape(value, node.outs[0].shape[::-1] or [1]), SUMMED


@rule("Gemm")
def gemm(node, case):
    if node.name != "gemm_default_no_bias":
        return None
    return matmul(node, case)


@rule("Attention")
def attention(node, case):
    q, k, v, mask, past_k, past_v = (node.given(i) for i in range(6))
    left, right = node.get("left_window_size", -1), node.get("right_window_size", -1)
    if len(node.ins) > 6 or str(q.dtype) == "bfloat16" or right >= 0:
        return None
    if q.ndim == 3:
        heads, key_heads = node.get("q_num_heads"), node.get("kv_num_heads")
        split = [(heads, 0), (key_heads, 1), (key_heads, 2)]
        q, k, v = (a.reshape(*a.shape[:2], n, -1).transpose(0, 2, 1, 3)
                   for a, (n, _) in zip((q, k, v), split))
    if mask is not None and mask.ndim == 4 and mask.shape[1] > 1:
        return None   # a mask for each head
    b = 1 if q.shape[0] > 1 else 0   # one sequence of the batch
    past = 0 if past_k is None else past_k.shape[2]
    q_value = case.input(q[b])
    keys = [case.input(a[b]) for a in ([k] if past_k is None else [past_k, k])]
    values = [case.input(a[b]) for a in ([v] if past_v is None else [past_v, v])]
    position = case.input(np.arange(past, past + q.shape[2], dtype=np.int32))
    mask_value = None
    if mask is not None:
        mask = mask[b, 0] if mask.ndim == 4 else np.broadcast_to(mask, (q.shape[2], mask.shape[-1]))
        if mask.dtype == np.bool_:
            mask = np.where(mask, 0, -np.inf).astype(np.float32)
        mask_value = case.input(mask)

    def joined(parts, width):
        if len(parts) == 1:
            return parts[0]
        return case.step("concat", parts, [width, past + k.shape[2], k.shape[1]], axis=1)

    def turned(x):   # {D, T, H} to {D, H, T}
        return case.permute(x, [0, 2, 1])

    operands = [turned(q_value), turned(joined(keys, k.shape[3])),
                turned(joined(values, v.shape[3])), position] + [mask_value] * (mask is not None)
    value = case.step("attention", operands, [v.shape[3], q.shape[1], q.shape[2]],
                      flags=int(node.get("is_causal", 0)), softcap=float(node.get("softcap", 0)),
                      window=left + 1,
                      scale=float(node.get("scale", q.shape[3] ** -0.5)))
    node.outs[0] = node.outs[0][b].astype(np.float32)
    if node.ins[0].ndim == 3:   # {E * H, T}
        return case.reshape(value, node.outs[0].shape[::-1]), CLOSE
    return turned(value), HALF if node.ins[0].dtype == np.float16 else CLOSE


@rule("Gather")
def gather(node, case):
    table, index = node.ins
    axis = node.get("axis", 0) % table.ndim
    if index.min() < 0:
        return None
    before, rows = int(np.prod(table.shape[:axis])), table.shape[axis]
    row = table.size // before // rows
    x, n = case.input(table), index.size
    i = case.input(np.broadcast_to(index.ravel().astype(np.int32), (before, n)))
    value = case.step("get_rows", [case.reshape(x, [row, rows, before]),
                                   case.reshape(i, [n, before])], [row, n, before])
    return case.reshape(value, node.outs[0].shape[::-1]), EXACT


def scattered(case, table, rows, index):
    """table (R, D) with rows (N, D) at index (N): a computed table, as inputs are not written."""
    x, r, i = case.input(table), case.input(rows), case.input(index.astype(np.int32))
    return case.step("set_rows", [case.convert(x, "F32"), r, i])


@rule("ScatterND")
def scatter_nd(node, case):
    table, index, updates = node.ins
    if node.get("reduction", "none") != "none" or index.shape[-1] != 1:
        return None
    value = scattered(case, table.reshape(table.shape[0], -1), updates.reshape(index.size, -1),
                      index.ravel())
    return case.reshape(value, node.outs[0].shape[::-1]), EXACT


@rule("TensorScatter")
def tensor_scatter(node, case):
    past, update, start = node.ins
    if past.ndim == 4 and past.shape[1] > 1:
        return None
    slots, new, width = past.shape[-2], update.shape[-2], past.shape[-1]
    index = start[:, None] + np.arange(new)[None, :]
    if node.get("mode") == "circular":
        index = index % slots
    index = index + np.arange(len(start))[:, None] * slots
    value = scattered(case, past.reshape(-1, width), update.reshape(-1, width), index.ravel())
    return case.reshape(value, node.outs[0].shape[::-1]), EXACT


@rule("Cast")
def cast(node, case):
    kinds = [str(a.dtype) for a in (node.ins[0], node.outs[0])]
    if "expanded" in node.name or not all(k in case_file.DTYPES for k in kinds):
        return None
    return case.convert(case.input(node.ins[0]), case_file.DTYPES[kinds[1]]), EXACT


@rule("Identity")
def identity(node, case):
    if node.name != "identity":
        return None
    return case.convert(case.input(node.ins[0]), "F32"), EXACT


@rule("Concat")
def concat(node, case):
    a, b = node.ins
    d = dim_of(node.get("axis"), a.ndim)
    return case.step("concat", [case.input(a), case.input(b)], node.outs[0].shape[::-1],
                     axis=d), EXACT


@rule("Pad")
def pad(node, case):
    x, pads, value, axes = (node.given(i) for i in range(4))
    if node.get("mode", "constant") != "constant":
        return None
    axes = range(x.ndim) if axes is None else axes.tolist()
    before, after = [0] * case_file.MAX_DIMS, [0] * case_file.MAX_DIMS
    for i, axis in enumerate(axes):
        before[dim_of(axis, x.ndim)] = int(pads[i])
        after[dim_of(axis, x.ndim)] = int(pads[len(pads) // 2 + i])
    if min(before + after) < 0:
        return None
    return case.step("pad", [case.input(x)], node.outs[0].shape[::-1], rank=x.ndim, before=before,
                     after=after, value=float(value)), EXACT


@rule("Tile")
def tile(node, case):
    dims = node.outs[0].shape[::-1]
    return case.step("repeat", [case.input(node.ins[0])], dims, rank=len(dims),
                     dims=case_file.filled(dims, 1)), EXACT


@rule("Expand")
def expand(node, case):
    x, dims = node.ins[0], list(node.outs[0].shape[::-1])
    value = case.reshape(case.input(x), list(x.shape[::-1]) + [1] * (len(dims) - x.ndim))
    return case.broadcast(value, dims), EXACT


@rule("Reshape", "Flatten", "Squeeze", "Unsqueeze")
def reshape(node, case):
    if node.ins[0].size == 0:
        return None
    return case.reshape(case.input(node.ins[0]), node.outs[0].shape[::-1]), EXACT


@rule("Transpose")
def transpose(node, case):
    rank = node.ins[0].ndim
    axes = node.get("perm", list(range(rank))[::-1])
    return case.permute(case.input(node.ins[0]),
                        [rank - 1 - axes[rank - 1 - i] for i in range(rank)]), EXACT


@rule("Slice")
def slice_of(node, case):
    x, starts, ends, axes, steps = (node.given(i) for i in range(5))
    if node.outs[0].size == 0 or (steps is not None and steps.min() < 1):
        return None
    axes = range(len(starts)) if axes is None else axes.tolist()
    begin, step = [0] * x.ndim, [1] * x.ndim
    for i, axis in enumerate(axes):
        begin[dim_of(axis, x.ndim)] = int(range(x.shape[axis])[int(starts[i]):][0])
        step[dim_of(axis, x.ndim)] = 1 if steps is None else int(steps[i])
    return case.slice(case.input(x), begin, list(node.outs[0].shape[::-1]), step), EXACT


@rule("Split")
def split(node, case):
    x = node.ins[0]
    d = dim_of(node.get("axis", 0), x.ndim)
    if x.size == 0:
        return None
    begin = [0] * x.ndim
    begin[d] = node.outs[0].shape[node.get("axis", 0)]
    node.outs[0] = node.outs[1]   # the second part
    return case.slice(case.input(x), begin, list(node.outs[0].shape[::-1])), EXACT


@rule("DepthToSpace", "SpaceToDepth")
def depth_and_space(node, case):
    (b, c, h, w), s = node.ins[0].shape, node.get("blocksize")
    is_crd, x = node.get("mode", "DCR") == "CRD", case.input(node.ins[0])
    if node.op == "SpaceToDepth":
        value = case.reshape(x, [s, w // s, s, h // s, c, b])
        value = case.permute(value, [1, 3, 0, 2, 4, 5] if is_crd else [1, 3, 4, 0, 2, 5])
    elif is_crd:
        value = case.permute(case.reshape(x, [w, h, s, s, c // s // s, b]), [2, 0, 3, 1, 4, 5])
    else:
        value = case.permute(case.reshape(x, [w, h, c // s // s, s, s, b]), [3, 0, 4, 1, 2, 5])
    return case.reshape(case.convert(value, "F32"), node.outs[0].shape[::-1]), EXACT


def window(node, spatial, kernel):
    """stride, dilation, padding before and after of dims[0] and dims[1]."""
    n = len(spatial)
    stride, dilation = node.get("strides", [1] * n), node.get("dilations", [1] * n)
    pads, auto = node.get("pads", [0] * 2 * n), node.get("auto_pad", "NOTSET")
    pads = list(pads)
    for i in range(n):
        reach = dilation[i] * (kernel[i] - 1) + 1
        out = node.outs[0].shape[2 + i]
        missing = max(0, (out - 1) * stride[i] + reach - spatial[i])
        if auto.startswith("SAME"):
            pads[i] = missing // 2 if auto == "SAME_UPPER" else missing - missing // 2
            pads[n + i] = missing - pads[i]
        elif node.get("ceil_mode"):
            pads[n + i] = missing - pads[i]
    both = lambda values, rest: list(values)[::-1] + [rest] * (2 - n)
    return dict(stride=both(stride, 1), dilation=both(dilation, 1), before=both(pads[:n], 0),
                after=both(pads[n:], 0))


@rule("Conv")
def conv(node, case):
    x, w, bias = (node.given(i) for i in range(3))
    if x.ndim > 4:
        return None
    inputs = [case.input(a) for a in (x, w)]
    bias = None if bias is None else case.input(bias)
    value = case.step("conv_1d" if x.ndim == 3 else "conv_2d", inputs,
                      node.outs[0].shape[::-1], groups=node.get("group", 1),
                      **window(node, x.shape[2:], w.shape[2:]))
    if bias is not None:
        value = case.step("add", [value, case.reshape(bias, [1] * (x.ndim - 2) + [w.shape[0]])])
    return value, SUMMED


@rule("ConvTranspose")
def conv_transpose(node, case):
    x, w = node.ins[0], node.ins[1]
    if x.ndim != 3:
        return None
    return case.step("conv_transpose_1d", [case.input(x), case.input(w)],
                     node.outs[0].shape[::-1], groups=1,
                     **window(node, x.shape[2:], w.shape[2:])), SUMMED


@rule("MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool")
def pool(node, case):
    x = node.ins[0]
    kernel = x.shape[2:] if node.op.startswith("Global") else node.get("kernel_shape")
    if not is_f32(x) or x.ndim > 4 or node.get("count_include_pad") or len(node.outs) > 1:
        return None
    attributes = window(node, x.shape[2:], kernel)
    if attributes.pop("dilation") != [1, 1]:
        return None
    value = case.input(x)
    if x.ndim == 3:
        value = case.reshape(value, [x.shape[2], 1, x.shape[1], x.shape[0]])
    value = case.step("pool_2d", [value], kind=1 if "Average" in node.op else 0,
                      kernel=(list(kernel)[::-1] + [1])[:2], **attributes)
    return (case.reshape(value, node.outs[0].shape[::-1]) if x.ndim == 3 else value), CLOSE


@rule("Resize", "Upsample")
def resize(node, case):
    """Nearest: ours is that of ONNX where a size is multiplied by a whole number."""
    x, out = node.ins[0], node.outs[0]
    mode, policy = node.get("mode", "nearest"), node.get("keep_aspect_ratio_policy", "stretch")
    whole = all(o % i == 0 for i, o in zip(x.shape, out.shape))
    default = "nearest_mode" not in node.attributes and policy == "stretch" and \
        not node.get("antialias") and \
        node.get("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    if not default or mode not in ("nearest", "linear") or not whole:
        return None
    return case.step("upscale", [case.input(x)], out.shape[::-1],
                     mode=0 if mode == "nearest" else 1, width=out.shape[3],
                     height=out.shape[2]), CLOSE


def node_tests():
    np.random.seed(20)
    from onnx.backend.test.case.node import collect_testcases
    yield from (t for t in collect_testcases(None)
                if len(t.model.graph.node) == 1 and not t.name.endswith("_expanded"))


class Stored:
    """A test that the package holds as files, its weights beside its inputs."""

    def __init__(self, folder):
        self.name, self.model = os.path.basename(folder), onnx.load(folder + "/model.onnx")
        data = folder + "/test_data_set_0/"
        names = [i.name for i in self.model.graph.input]
        known = {t.name: t for t in self.model.graph.initializer}
        free = [n for n in names if n not in known]
        known.update((n, onnx.load_tensor(f"{data}input_{i}.pb")) for i, n in enumerate(free))
        known = {n: numpy_helper.to_array(t) for n, t in known.items()}
        outputs = [numpy_helper.to_array(onnx.load_tensor(data + "output_0.pb"))]
        self.data_sets = [([known[n] for n in self.model.graph.node[0].input if n], outputs)]


def stored_tests():
    root = os.path.join(os.path.dirname(onnx.__file__), "backend/test/data/pytorch-converted/")
    yield from (Stored(root + name) for name in sorted(os.listdir(root)) if "Conv" in name)


def main():
    cases, seen = [], set()
    for test in list(node_tests()) + list(stored_tests()):
        operator = test.model.graph.node[0].op_type
        if operator not in RULES or REPEATED.search(test.name):
            continue
        node = Node(test)
        case = case_file.Case(node.name)
        made = RULES[operator](node, case)
        if made is None:
            continue
        value, (absolute, relative) = made
        assert value == len(case.dims) - 1, node.name
        case.expect(node.outs[0], absolute, relative)
        text = case_file.text_of_case(case)
        meaning = text.split("\n", 1)[1]
        if sum(len(t["data"]) for t in case.inputs + [case.want]) > MOST_NUMBERS or meaning in seen:
            continue
        seen.add(meaning)
        cases.append(case)
    case_file.write(os.path.join(HERE, "cases.json"), cases)
    print(f"{len(cases)} cases")


if __name__ == "__main__":
    main()
