import { isGgmlType, tensorBytes } from "@centella/quant";
import { byteArray, check, either, isRecord, kind, list, listOf, object, oneOf, whole } from "@centella/quant/checks";
import { aligned, alignmentOf } from "../alignment.ts";
import { GgufError } from "../errors.ts";
import { limits } from "../limits.ts";
import { valueTypes } from "../read/metadata.ts";
import { shown } from "../shown.ts";
import type { GgufContent, TensorContent } from "./content.ts";
import { isText, type WritableEntry } from "./encode.ts";

/** A tensor and its position in the file. */
export interface PlacedTensor extends TensorContent {
  /** Offset from the start of the tensor data, in bytes. */
  readonly offset: number;
  readonly bytes: number;
}

/** Checked content, in the order of the file. */
export interface CheckedContent {
  readonly alignment: number;
  readonly tensors: readonly PlacedTensor[];
  /** Bytes of all tensors, padded. */
  readonly dataBytes: number;
}

const valueType = oneOf(...valueTypes);
const reader = kind("an object with read()", (value) => isRecord(value) && typeof value.read === "function");

/**
 * Checks the content and lays out the tensors. Values of metadata are checked by `encodeHeader`. Content that passes both checks can be
 * written and read again.
 * @throws {ArgumentError} for arguments of the wrong types; {GgufError} `invalid`, `duplicate`, `limit`
 */
export function checkContent(where: string, content: GgufContent): CheckedContent {
  const { metadata, tensors, version = 3, byteOrder = "little" } = check(where, "content", content, object);
  check(where, "content.version", version, oneOf(2, 3));
  check(where, "content.byteOrder", byteOrder, oneOf("little", "big"));
  check(where, "content.tensors", tensors, list);
  if (tensors.length > limits.tensors) {
    throw new GgufError("limit", { expected: `at most ${limits.tensors} tensors`, got: String(tensors.length) });
  }
  checkMetadata(where, "content.metadata", metadata);
  const alignment = alignmentOf(metadata.find(({ key }) => key === "general.alignment"));
  const names = new Set<string>();
  let offset = 0;
  const placed = Array.from(tensors, (tensor, i) => {
    check(where, `content.tensors[${i}]`, tensor, object);
    checkName(where, "tensor", tensor.name, limits.tensorNameBytes, names);
    const size = sizeOf(where, tensor);
    const start = offset;
    offset = aligned(offset + size, alignment);
    return { ...tensor, offset: start, bytes: size };
  });
  return { alignment, tensors: placed, dataBytes: offset };
}

/** Checks keys and types of entries. `name` is the name of the argument. @throws {ArgumentError | GgufError} as {@link checkContent} */
export function checkMetadata(where: string, name: string, metadata: readonly WritableEntry[]): void {
  const keys = new Set<string>();
  for (const [i, entry] of check(where, name, metadata, list).entries()) {
    const { key, type, elementType } = check(where, `${name}[${i}]`, entry, object);
    checkName(where, "key", key, limits.keyBytes, keys);
    check(where, `the type of key '${shown(key)}'`, type, valueType);
    if (elementType !== undefined) check(where, `the elementType of key '${shown(key)}'`, elementType, valueType);
  }
}

/** Returns the bytes of a tensor. @throws {ArgumentError | GgufError} unless its type, shape and data fit together */
function sizeOf(where: string, { name, type, shape, data }: TensorContent): number {
  const what = `tensor '${shown(name)}'`;
  check(
    where,
    `the type of ${what}`,
    type,
    kind('the name of a ggml type, such as "f32"', (value) => isGgmlType(value as string)),
  );
  check(where, `the shape of ${what}`, shape, listOf("whole numbers from 0", whole(0)));
  check(where, `the data of ${what}`, data, either(byteArray, reader));
  if (shape.length > limits.dimensions) {
    throw new GgufError("invalid", { expected: `at most ${limits.dimensions} dimensions of ${what}`, got: String(shape.length) });
  }
  let size: number;
  try {
    size = tensorBytes(type, shape);
  } catch (cause) {
    throw new GgufError("invalid", { expected: `a shape that ${what} can have in ${type}`, got: `[${shape.join(", ")}]`, cause });
  }
  if (data instanceof Uint8Array && data.length !== size) throw wrongLength(name, size, data.length);
  return size;
}

function checkName(where: string, what: "key" | "tensor", name: string, mostBytes: number, seen: Set<string>): void {
  check(
    where,
    `the name of every ${what}`,
    name,
    kind("a string of Unicode characters", (value) => isText(value)),
  );
  if (name === "") throw new GgufError("invalid", { expected: `the name of every ${what}`, got: "an empty one" });
  const size = new TextEncoder().encode(name).length;
  if (size > mostBytes) {
    throw new GgufError("limit", { expected: `at most ${mostBytes} bytes in the name of a ${what}`, got: `${size} for '${shown(name)}'` });
  }
  if (seen.has(name)) throw new GgufError("duplicate", { expected: `every ${what} once`, got: `'${shown(name)}' twice` });
  seen.add(name);
}

/** Returns the error of tensor data whose length does not fit its type and shape. */
export function wrongLength(name: string, expected: number, got: number): GgufError {
  return new GgufError("invalid", { expected: `${expected} bytes of tensor '${shown(name)}' by its type and shape`, got: String(got) });
}
