import { blockLayout, tensorBytes } from "@centella/quant";
import type { FileToWrite, TensorToWrite, WritableValue } from "../../gguf/test/writer.ts";

/** A file whose metadata and tensors contradict one another, or ask for what no model has. */
export type ModelFile = Required<Pick<FileToWrite, "metadata" | "tensors">>;

type Entry = ModelFile["metadata"][number];
type ScalarType = "u8" | "i8" | "u16" | "i16" | "u32" | "i32" | "f32" | "u64" | "i64" | "f64";

/** Draws a number from 0 to below `n`. */
export type Below = (n: number) => number;

const integers = [0, 1, 2, 3, 7, 31, 255, 4096, 65_536, 1e6, 1e9, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, -1, -2, -(2 ** 31)];
const longs = [0n, 1n, 2n ** 32n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n - 1n, 2n ** 64n - 1n, -1n, -(2n ** 63n)];
const floats = [0, 0.5, 1, 1.5, 40, 1e-42, 1e39, -1, -1e-30, 1e300, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
/** Texts that would act on a terminal, or on a program that trusts them. */
const texts = [
  "",
  "none",
  "linear",
  "yarn",
  "longrope",
  "llama",
  "\u001b]0;x\u0007\u001b[2J",
  "\u202egnp.exe",
  "\u009b31m",
  "__proto__",
  "{{ raise_exception('\u001b[2J') }}",
  "{% for m in messages %}{{ m.content }}{% endfor %}",
  "gpt2",
  "bert",
  "t5",
  "é\n".repeat(4000),
];
const scalarTypes: readonly ScalarType[] = ["u8", "i8", "u16", "i16", "u32", "i32", "f32", "u64", "i64", "f64"];
const bytesOf: Readonly<Record<"u8" | "i8" | "u16" | "i16", readonly [min: number, max: number]>> = {
  u8: [0, 255],
  i8: [-128, 127],
  u16: [0, 65_535],
  i16: [-32_768, 32_767],
};
const mostElements = 2 ** 18;

/** The file with one to three changes; `keys` are names that the code looks up, in the file or not. */
export function mutatedModel(file: ModelFile, keys: readonly string[], below: Below): ModelFile {
  let { metadata, tensors } = file;
  for (let changes = 1 + below(3); changes > 0; changes--) {
    if (below(4) > 0) metadata = changedMetadata(metadata, keys, below);
    else tensors = changedTensors(tensors, below);
  }
  return { metadata, tensors };
}

function changedMetadata(metadata: readonly Entry[], keys: readonly string[], below: Below): readonly Entry[] {
  const key = pick(keys, below);
  const rest = metadata.filter(([name]) => name !== key);
  if (below(12) === 0) return rest;
  const known = metadata.find(([name]) => name === key);
  const entry: Entry = known !== undefined && below(5) > 0 ? [key, ...changedValue(known, below)] : [key, ...anything(below)];
  return below(8) === 0 ? [entry, ...rest] : [...rest, entry];
}

/** Another value of the same type: half of the numbers near the one that was there, so that some models still load. */
function changedValue([, type, value]: Entry, below: Below): readonly [Entry[1], WritableValue] {
  if (!isScalarType(type)) return anything(below);
  const isNear = typeof value === "number" && below(2) === 0;
  return [type, isNear ? pick([value + 1, Math.max(0, value - 1), 2 * value, Math.floor(value / 2)], below) : scalar(type, below)];
}

function anything(below: Below): readonly [Entry[1], WritableValue] {
  switch (below(6)) {
    case 0:
      return ["string", pick(texts, below)];
    case 1:
      return ["bool", below(2) === 1];
    case 2:
      return ["array", { of: "string", values: Array.from({ length: below(40) }, () => pick(texts, below)) }];
    case 3: {
      const of = pick(scalarTypes, below);
      const same = scalar(of, below);
      return [
        "array",
        { of, values: Array.from({ length: pick([0, 1, 2, 3, 70, 5000], below) }, () => (below(3) > 0 ? same : scalar(of, below))) },
      ];
    }
    case 4:
      return ["array", { of: "bool", values: Array.from({ length: below(6) }, () => below(2) === 1) }];
    default: {
      const type = pick(scalarTypes, below);
      return [type, scalar(type, below)];
    }
  }
}

function scalar(type: ScalarType, below: Below): number | bigint {
  switch (type) {
    case "u64":
      return BigInt.asUintN(64, pick(longs, below));
    case "i64":
      return BigInt.asIntN(64, pick(longs, below));
    case "f32":
    case "f64":
      return pick(floats, below);
    case "u32":
      return pick(integers, below) >>> 0;
    case "i32":
      return pick(integers, below) | 0;
    default: {
      const [min, max] = bytesOf[type];
      return Math.max(min, Math.min(max, pick(integers, below)));
    }
  }
}

function changedTensors(tensors: readonly TensorToWrite[], below: Below): readonly TensorToWrite[] {
  if (tensors.length === 0) return tensors;
  const at = below(tensors.length);
  const { name, type, shape } = tensors[at]!;
  switch (below(6)) {
    case 0:
      return tensors.toSpliced(at, 1);
    case 1:
      return withTensor(tensors, at, { name: `${pick(["", "blk.9.", "\u001b[31m", "x".repeat(900)], below)}${name}`, type, shape });
    case 2:
      return withTensor(tensors, at, {
        name,
        type,
        shape: shape.map((extent) => (below(2) === 0 ? extent : pick([0, 1, 2, extent + 1, 2 * extent, 4096], below))),
      });
    case 3:
      return withTensor(tensors, at, {
        name,
        type,
        shape: shape.length > 1 && below(2) === 0 ? shape.toReversed() : [...shape, pick([1, 2, 32], below)].slice(-4),
      });
    case 4:
      return withTensor(tensors, at, {
        name,
        type: pick(["f16", "bf16", "f64", "i8", "i32", "q4_0", "q8_0", "q6_K", "mxfp4"], below),
        shape,
      });
    default:
      return withTensor(tensors, at, { ...tensors[at]!, data: wild(tensorBytes(type, shape), below) });
  }
}

/** The tensors with another one in place of number `at`, unless its type has no such shape or it would be large. */
function withTensor(tensors: readonly TensorToWrite[], at: number, tensor: TensorToWrite): readonly TensorToWrite[] {
  const { type, shape } = tensor;
  const elements = shape.reduce((product, extent) => product * extent, 1);
  const isWhole = (shape.at(-1) ?? 1) % blockLayout(type).blockElements === 0;
  return elements > mostElements || !isWhole ? tensors : tensors.with(at, tensor);
}

/** Weights that are no finite numbers, among others. */
function wild(length: number, below: Below): Uint8Array {
  return Uint8Array.from({ length }, () => pick([0, 0x3c, 0x7f, 0x80, 0xc0, 0xff], below));
}

function isScalarType(type: string): type is ScalarType {
  return (scalarTypes as readonly string[]).includes(type);
}

function pick<T>(values: readonly T[], below: Below): T {
  return values[below(values.length)]!;
}
