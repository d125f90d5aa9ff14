import type { DimValues, DType, TensorSpec } from "@centella/core";
import { elementAt, isQuantized } from "@centella/core/backend";
import {
  type ActivationScales,
  activationBlock,
  type F32,
  type RoundedType,
  roundedCode,
  scalesOf,
  type U32,
  unitWeights,
} from "@centella/gpu-kernels";
import { type ActivationType, isHalf } from "@centella/quant";
import type { Capabilities } from "../../device/capabilities.ts";
import { WgslEmitter } from "../../wgsl/emitter.ts";
import { defineDispatch } from "../../wgsl/module.ts";
import type { Binding, Dispatch } from "./kernel.ts";
import { count, maximum, range } from "./shape.ts";

/**
 * Activations that are rounded to 8-bit blocks, in units of 32, each three vec4u: 32 codes, then four f32 bit by bit. These are the block's
 * step, and the step times the sum of the first 16 codes, of the last 16, and of all. A row has the first quad of each unit, then the
 * second ones, then the third ones, so that neighbouring lanes read neighbouring quads. Units of q8_K that are even come first, since lanes
 * read pairs of units of most weights that multiply them.
 */
export const quadsPerUnit = 3;

/** Index of quad `quad` of a unit: expressions of the row's number, of the units of a row and of the unit's number there. */
export function quadIndex(type: ActivationType, row: string, units: string, unit: string, quad: number | string): string {
  const place = type === "q8_K" ? `(${unit} & 1u) * (${units} / 2u) + (${unit} >> 1u)` : unit;
  return `(${row} * ${quadsPerUnit}u + ${typeof quad === "number" ? `${quad}u` : quad}) * ${units} + ${place}`;
}

/** Quads of rows that are rounded to units. */
export function unitQuads(elements: number): number {
  return (elements / unitWeights) * quadsPerUnit;
}

/** True if products with a weight read activations of this rounding as units, whose codes packed dot products multiply. */
export function readsUnits(weight: DType, rounding: RoundedType | undefined, { packedDotProducts }: Capabilities): boolean {
  return packedDotProducts && isUnitRounding(rounding) && isQuantized(weight);
}

export function isUnitRounding(rounding: RoundedType | undefined): rounding is ActivationType {
  return rounding !== undefined && !isHalf(rounding);
}

/** Elements that a lane rounds at once. */
export const elementsAtOnce = 8;

/** Elements of a row that a lane rounds. */
interface Part {
  readonly type: ActivationType;
  /** Number of the first element in its row, a multiple of 8. */
  readonly first: U32;
  /** Whether the lane stores its part: a whole block of lanes does or does not. */
  readonly isStored: string;
  readonly elements: readonly F32[];
  /** Statement that stores quad `quad` of unit `unit` of the row. */
  readonly store: (unit: string, quad: string, value: string) => string;
}

/**
 * Rounds eight elements with each lane of a workgroup, bit for bit as `roundActivations` of `@centella/quant` does. Neighbouring lanes have
 * neighbouring elements, the first lane those of the start of a block.
 */
export function roundPart(k: WgslEmitter, { type, first, isStored, elements, store }: Part): void {
  const scales = partScales(k, type, first, elements);
  const words = [0, 4].map((i) => {
    const codes = elements.slice(i, i + 4).map((value) => `i32(${roundedCode(k, type, value, scales)})`);
    return k.define("u32", `pack4xI8(vec4i(${codes.join(", ")}))`);
  }) as [U32, U32];
  const quad = [...words, ...k.exchange(words, 1)];
  const sum = k.define("i32", quad.map((word) => `dot4I8Packed(${word}, 0x01010101u)`).join(" + "));
  const [other] = k.exchange([sum], 2);
  const unit = k.quotient(first, unitWeights);
  const floats = [scales.step, ...[`${sum}`, `${other}`, `(${sum} + ${other})`].map((codes) => `${scales.step} * f32(${codes})`)];
  k.lines.push(
    `if (${isStored}) {`,
    `if ((lane & 1u) == 0u) { ${store(unit, "((lane >> 1u) & 1u)", `vec4u(${quad.join(", ")})`)} }`,
    `if ((lane & 3u) == 0u) { ${store(unit, "2u", `bitcast<vec4u>(vec4f(${floats.join(", ")}))`)} }`,
    "}",
  );
}

/** The scales of the block in which a lane has eight elements, of which `first` is the first one's number in its row. */
export function partScales(k: WgslEmitter, type: ActivationType, first: U32, elements: readonly F32[]): ActivationScales {
  return scalesOf(k, type, largestOf(k, type, first, elements));
}

/** The largest magnitude of the lane's block; for q8_K the first element that has it, with its sign. */
function largestOf(k: WgslEmitter, type: ActivationType, first: U32, elements: readonly F32[]): F32 {
  const masks = range(Math.log2(activationBlock[type] / elementsAtOnce)).map((bit) => 2 ** bit);
  // Magnitudes as bits, which have the same order.
  const bits = elements.map((value) => k.bitcast("u32", value));
  const own = bits.map((word) => k.and(word, 0x7fffffff));
  const largest = masks.reduce(
    (most, mask) => k.max(most, k.exchange([most], mask)[0]),
    own.reduce((a, b) => k.max(a, b)),
  );
  if (type !== "q8_K") return k.bitcast("f32", largest);
  // Places in the block with the sign in the lowest bit; the first place wins.
  const place = k.shiftLeft(k.and(first, activationBlock[type] - 1), 1);
  const places = own.map((magnitude, i) => {
    const tag = k.or(k.add(place, 2 * i), k.shiftRight(elementAt(bits, i), 31));
    return k.select(k.compare("eq", magnitude, largest), tag, 0xffff);
  });
  const found = masks.reduce(
    (least, mask) => k.min(least, k.exchange([least], mask)[0]),
    places.reduce((a, b) => k.min(a, b)),
  );
  return k.bitcast("f32", k.or(largest, k.shiftLeft(found, 31)));
}

/** Eight elements of a binding of type array<vec4f>. */
export function storedValues(k: WgslEmitter, name: string): (first: U32) => readonly F32[] {
  return (first) =>
    [0, 1].flatMap((i) => {
      const vector = k.quad(name, `(${first} >> 2u) + ${i}u`);
      return ["x", "y", "z", "w"].map((part) => k.define("f32", `${vector}.${part}`));
    });
}

const lanes = 64;

/** Rounds the rows of `a`, a binding of f32, to the units of `y`. */
export function roundUnitsDispatch(a: TensorSpec, type: ActivationType, source: Binding, y: Binding, subgroup: number): Dispatch {
  const k = new WgslEmitter({}, lanes, { subgroup });
  const share = elementsAtOnce * lanes;
  k.lines.push(
    `let shares = (p.k + ${share - 1}u) / ${share}u;`,
    "let row = group / shares;",
    `let own = group % shares * ${share}u + lane * ${elementsAtOnce}u;`,
  );
  // Lanes beyond the last element round it again and store nothing.
  const first = k.define("u32", `min(own, p.k - ${elementsAtOnce}u)`);
  roundPart(k, {
    type,
    first,
    isStored: "own < p.k",
    elements: storedValues(k, source.name)(k.define("u32", `row * p.k + ${first}`)),
    store: (unit, quad, value) => `${y.name}[${quadIndex(type, "row", `(p.k / ${unitWeights}u)`, unit, quad)}] = ${value};`,
  });
  const depth = maximum(a.shape.at(-1) ?? 0);
  return defineDispatch({
    bindings: [
      { ...source, element: "vec4f" },
      { ...y, access: "read_write", element: "vec4u" },
    ],
    uniforms: { k: "u32" },
    lanes,
    declarations: k.declarations,
    body: k.lines.join("\n"),
    sizeIn: (dims: DimValues) => ({ groups: (count(a.shape, dims) / depth) * Math.ceil(depth / share), values: { k: depth } }),
  });
}

/** Bytes of the units of elements. */
export function unitBytes(elements: number): number {
  return 16 * unitQuads(elements);
}
