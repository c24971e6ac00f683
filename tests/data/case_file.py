"""Cases for tests/integration/ops: inputs, steps on them, and what must come out, as JSON.

Values are numbered: the inputs first, then what each step makes. Dims are in the order of ops.def,
dims[0] fastest, so the reverse of a numpy shape. Data are numbers, or "nan", "inf", "-inf".
"""
import json

import numpy as np

DTYPES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16", "int32": "I32", "int64": "I64",
          "int16": "I16", "int8": "I8", "bool": "BOOL"}
MAX_DIMS = 8


def tensor(array):
    array = np.asarray(array)
    return {"dtype": DTYPES[str(array.dtype)], "dims": list(array.shape[::-1]) or [1],
            "data": array.ravel()}


def filled(values, rest):
    return list(values) + [rest] * (MAX_DIMS - len(values))


class Case:
    def __init__(self, name):
        self.name, self.inputs, self.steps, self.want = name, [], [], None
        self.absolute = self.relative = 0.0
        self.dims = []   # of each value

    def input(self, array):
        assert not self.steps, "inputs come before steps"
        self.inputs.append(tensor(array))
        self.dims.append(self.inputs[-1]["dims"])
        return len(self.dims) - 1

    def step(self, op, operands, shape=None, **attributes):
        """shape: the dims of the result, for the steps after it; None = those of the first
        operand."""
        finite = {k: str(v) if v in (float("inf"), float("-inf")) else v
                  for k, v in attributes.items()}
        self.steps.append({"op": op, "in": [-1 if i is None else i for i in operands],
                           "attr": finite})
        self.dims.append(list(shape or self.dims[operands[0]]))
        return len(self.dims) - 1

    def expect(self, array, absolute=0.0, relative=0.0):
        self.want, self.absolute, self.relative = tensor(array), absolute, relative

    # Views, and a contiguous copy.

    def reshape(self, x, dims):
        return self.step("reshape", [x], dims, rank=len(dims), dims=filled(dims, 1))

    def permute(self, x, axes):
        return self.step("permute", [x], [self.dims[x][a] for a in axes], rank=len(axes),
                         axes=list(axes) + list(range(len(axes), MAX_DIMS)))

    def slice(self, x, begin, count, step=None):
        return self.step("slice", [x], count, rank=len(count), begin=filled(begin, 0),
                         count=filled(count, 1), step=filled(step or [1] * len(count), 1))

    def broadcast(self, x, dims):
        return self.step("broadcast", [x], dims, rank=len(dims), dims=filled(dims, 1))

    def convert(self, x, dtype):
        return self.step("convert", [x], dtype=dtype)

    def to_front(self, x, d):
        """Dim d becomes dims[0]; a second call with the axes brings it back."""
        axes = [d] + [i for i in range(len(self.dims[x])) if i != d]
        return self.permute(x, axes), [axes.index(i) for i in range(len(axes))]


def number(x):
    if isinstance(x, (bool, np.bool_)):
        return str(int(x))
    if isinstance(x, (int, np.integer)):
        return str(int(x))
    if np.isnan(x):
        return '"nan"'
    if np.isinf(x):
        return '"inf"' if x > 0 else '"-inf"'
    text = str(np.float32(x))
    return text[:-2] if text.endswith(".0") else text


def text_of_tensor(t):
    return '{"dtype": "%s", "dims": %s, "data": [%s]}' % (
        t["dtype"], json.dumps(t["dims"]), ",".join(number(x) for x in t["data"]))


def text_of_case(case):
    lines = ['{"name": %s, "absolute": %.3g, "relative": %.3g,' %
             (json.dumps(case.name), case.absolute, case.relative), ' "inputs": [']
    lines += ["  " + text_of_tensor(t) + ("," if t is not case.inputs[-1] else "")
              for t in case.inputs]
    lines += [" ],", ' "steps": [']
    lines += ["  " + json.dumps(s) + ("," if s is not case.steps[-1] else "") for s in case.steps]
    lines += [" ],", ' "want": ' + text_of_tensor(case.want) + "}"]
    return "\n".join(lines)


def write(path, cases):
    with open(path, "w", encoding="ascii") as out:
        out.write("[\n" + ",\n".join(text_of_case(c) for c in cases) + "\n]\n")
