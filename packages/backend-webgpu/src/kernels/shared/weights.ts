import type { DType } from "@centella/core";
import { isQuantized } from "@centella/core/backend";
import { type BlockWords, deviceBlock, loadUnit, loadUnits, type U32, type Unit, unitWeights } from "@centella/gpu-kernels";
import { blockStride } from "../../device/layout.ts";
import { WgslEmitter } from "../../wgsl/emitter.ts";
import type { ElementType } from "./kernel.ts";

/** Weights of a dtype that a lane reads at once; undefined for dtypes that are not read so. */
export function weightsAtOnce(dtype: DType): number | undefined {
  if (isQuantized(dtype)) return unitWeights;
  return { f32: 4, f16: 8, bf16: 8 }[dtype as string];
}

/** True if {@link rowProducts} can multiply rows of `depth` elements with a weight of the dtype. */
export function hasRowProduct(dtype: DType, depth: number): boolean {
  const weights = weightsAtOnce(dtype);
  return weights !== undefined && depth > 0 && depth % weights === 0;
}

/** Element type of a weight's binding in {@link rowProducts}. */
export function rowElement(dtype: DType): ElementType {
  if (isQuantized(dtype)) return (blockStride(dtype) ?? deviceBlock(dtype).blockBytes) % 16 === 0 ? "vec4u" : "u32";
  return dtype === "f32" ? "vec4f" : "vec4u";
}

/** Emits what reads weights, by the names of their bindings of {@link rowElement}. */
export function weightEmitter(weights: Readonly<Record<string, DType>>, lanes: number): WgslEmitter {
  const quads = Object.entries(weights).flatMap(([name, dtype]) => (rowElement(dtype) === "vec4u" ? [name] : []));
  return new WgslEmitter(weights, lanes, { quads: new Set(quads) });
}

/** Returns the blocks of a weight by their numbers. */
export function blocksOf(k: WgslEmitter, name: string): (block: U32, bytes: number) => BlockWords {
  return (block, bytes) => k.blockAt(name, block, bytes);
}

/** Weights of a step of the loop: vectors of four, and what their sums of products are scaled by. */
export interface WeightVectors {
  /** Expressions of type vec4f. */
  readonly vectors: readonly string[];
  /** For equal shares of the vectors; empty where the weights are the vectors themselves. */
  readonly scales: readonly string[];
  readonly offsets: readonly string[];
}

/** Reads the weights of step `index`, an expression, of a binding of {@link rowElement}. */
export function weightVectors(k: WgslEmitter, name: string, dtype: DType, index: string): WeightVectors {
  if (isQuantized(dtype)) {
    const at = k.define("u32", index);
    return unitVectors(k, dtype, loadUnit(k, dtype, blocksOf(k, name), at));
  }
  return { vectors: plainVectors(k, name, dtype, index), scales: [], offsets: [] };
}

/** Expressions of type vec4f of weights with their scales and offsets. */
export function decodedVectors({ vectors, scales, offsets }: WeightVectors): readonly string[] {
  const share = (values: readonly string[], i: number): string | undefined => values[Math.floor((i * values.length) / vectors.length)];
  return vectors.map((vector, i) => {
    const [scale, offset] = [share(scales, i), share(offsets, i)];
    const scaled = scale === undefined ? vector : `${scale} * ${vector}`;
    return offset === undefined ? scaled : `${scaled} + ${offset}`;
  });
}

/** Weights of a step that neighbour in the row. */
export interface StepVectors extends WeightVectors {
  /** Expression: number of the first quad of the row that they are multiplied with. */
  readonly first: string;
}

/** A step of a row, which has `steps` of them: expressions of the row's number and of the step's. */
export interface RowStep {
  readonly row: string;
  readonly steps: number;
  readonly step: string;
}

/** Reads the weights of a step: `weights` of them, which are one or two units of quantized weights. */
export function stepVectors(
  k: WgslEmitter,
  name: string,
  dtype: DType,
  weights: number,
  { row, steps, step }: RowStep,
): readonly StepVectors[] {
  if (!isQuantized(dtype) || weights === unitWeights) {
    return [{ ...weightVectors(k, name, dtype, `${row} * ${steps}u + ${step}`), first: `${step} * ${weights / 4}u` }];
  }
  const place = { first: k.define("u32", `${row} * ${steps}u`), step: k.define("u32", step) };
  const units = loadUnits(k, dtype, blocksOf(k, name), place);
  return units.map((unit) => ({ ...unitVectors(k, dtype, unit), first: `${unit.index} * ${unitWeights / 4}u` }));
}

/** The vectors of a unit. */
function unitVectors(k: WgslEmitter, dtype: DType, { words, scales, offsets = [] }: Unit): WeightVectors {
  if (!hasNibbles(dtype)) return { vectors: words.map((word) => `vec4f(unpack4xI8(${word}))`), scales, offsets };
  const factors = scales.map((scale) => k.define("f32", `16.0 * ${scale}`));
  const bases = factors.map((factor, i) => k.define("f32", offsets[i] === undefined ? `-${factor}` : `${offsets[i]} - ${factor}`));
  return { vectors: words.map((word) => nibbleVector(k, word)), scales: factors, offsets: bases };
}

/** Whether the codes of a unit are the numbers from 0 to 15. */
function hasNibbles(dtype: DType): boolean {
  return dtype === "q4_K" || dtype === "q4_0" || dtype === "q4_1";
}

/**
 * Codes `c` from 0 to 15 as floats `1 + c / 16`: they are the highest bits of the mantissas of halves, which are unpacked faster than integers become
 * floats.
 */
function nibbleVector(k: WgslEmitter, word: string): string {
  const pair = (shifted: string): string => `unpack2x16float(${k.define("u32", `(${shifted} & 0x03c003c0u) | 0x3c003c00u`)})`;
  const [even, odd] = [pair(`(${word} << 6u)`), pair(`(${word} >> 2u)`)];
  return `vec4f(${even}.x, ${odd}.x, ${even}.y, ${odd}.y)`;
}

/** Vectors of element `index` of an argument with a float dtype, which is an array of vec4u or vec4f. */
function plainVectors(k: WgslEmitter, name: string, dtype: DType, index: string): readonly string[] {
  const quad = k.quad(name, index);
  if (dtype === "f32") return [quad];
  return [fourHalves(dtype, `${quad}.x`, `${quad}.y`), fourHalves(dtype, `${quad}.z`, `${quad}.w`)];
}

/** Type of four neighbouring elements of a float dtype in memory. */
export function quadElement(dtype: DType): "vec4f" | "vec2u" {
  return dtype === "f32" ? "vec4f" : "vec2u";
}

/** Expression of type vec4f of four elements of a float dtype, which `stored`, of {@link quadElement}, names. */
export function quadText(dtype: DType, stored: string): string {
  return dtype === "f32" ? stored : fourHalves(dtype, `${stored}.x`, `${stored}.y`);
}

/** Expression of type vec4f of the f16 or bf16 elements in two words. */
function fourHalves(dtype: DType, first: string, second: string): string {
  const pair = (word: string): string =>
    dtype === "f16" ? `unpack2x16float(${word})` : `bitcast<f32>(${word} << 16u), bitcast<f32>(${word} & 0xffff0000u)`;
  return `vec4f(${pair(first)}, ${pair(second)})`;
}
