import type { ParamsOf } from "@centella/core";
import { elementAt } from "@centella/core/backend";
import { defineDispatch, input } from "../../wgsl/module.ts";
import type { Binding, Dispatch } from "../shared/kernel.ts";
import { extent, maximum } from "../shared/shape.ts";
import type { AttentionCall } from "./attentionCall.ts";

/** Below every score, but finite. */
export const unseen = "const unseen = -3e38;";

/** WGSL's `tanh` may give NaN for large arguments, and its error is only bounded absolutely. */
const boundedTanh = `fn tanhOf(x: f32) -> f32 {
  let a = abs(x);
  if (a < 0.25) {
    let s = x * x;
    return x * (1.0 + s * (-0.333333333 + s * (0.133333333 + s * (-0.053968254 + s * 0.021869489))));
  }
  let t = exp(-2.0 * min(a, 50.0));
  return select(1.0, -1.0, x < 0.0) * ((1.0 - t) / (1.0 + t));
}`;

/** What ALiBi multiplies its factor by, from the distance of a key after its query: keys after their queries are only seen without `causal`. */
function alibiDistance({ causal }: ParamsOf<"attention">, after: string): string {
  return causal ? after : `-abs(${after})`;
}

/** The factor of ALiBi for a head. */
const slope = `fn slopeOf(h: u32) -> f32 {
            let power = 1u << firstLeadingBit(p.heads);
            if (h < power) { return exp2(-p.alibi / f32(power) * f32(h + 1u)); }
            return exp2(-p.alibi * 0.5 / f32(power) * f32(2u * (h - power) + 1u));
          }`;

/** What a kernel reads to compute scores, besides queries and keys. */
export interface ScoreTerms {
  readonly hasSinks: boolean;
  readonly isBiased: boolean;
  readonly bindings: readonly Binding[];
  /** `unseen`, `sinkOf(h)`, `biasOf(h, after)` and what {@link adjustScores} calls, each where it is needed. */
  readonly declarations: readonly string[];
}

const gatherLanes = 64;

/** Elements of the bias of all heads, and of one. */
function biasSizes({ inputs: [q, , , , , , , bias] }: AttentionCall): { readonly all: number; readonly distances: number } {
  const distances = bias === undefined ? 0 : maximum(elementAt(bias.shape, 1));
  return { all: maximum(elementAt(q.shape, 1)) * distances, distances };
}

/** Memory with the bias of all heads, then their sinks: kernels that bound both would have more bindings than every device allows. */
function gatheredTerms(call: AttentionCall): Binding {
  const { all } = biasSizes(call);
  const bytes = 4 * (all + maximum(elementAt(call.inputs[0].shape, 1)));
  return { name: "terms", resource: { kind: "scratch", bytes, slot: 1 }, access: "read", element: "f32" };
}

/** The terms of a kernel. Kernels whose sums a further dispatch joins leave the sinks to that one: `withSinks` is false. */
export function termsOf(call: AttentionCall, params: ParamsOf<"attention">, withSinks: boolean): ScoreTerms {
  const [, , , , , , sinks, bias] = call.inputs;
  const { softcap, alibi } = params;
  const [hasSinks, isBiased] = [withSinks && sinks !== undefined, bias !== undefined];
  const { all, distances } = biasSizes(call);
  const reach = (distances - 1) / 2;
  const isGathered = hasSinks && isBiased;
  const [sinkAt, biasName] = isGathered ? [`terms[${all}u + h]`, "terms"] : ["sinks[h]", "bias"];
  const own = [...(hasSinks ? [input("sinks", 6)] : []), ...(isBiased ? [input("bias", 7)] : [])];
  return {
    hasSinks,
    isBiased,
    bindings: isGathered ? [gatheredTerms(call)] : own,
    declarations: [
      unseen,
      ...(softcap > 0 ? [boundedTanh] : []),
      ...(alibi > 0 ? [slope] : []),
      ...(hasSinks ? [`fn sinkOf(h: u32) -> f32 { return max(${sinkAt}, unseen); }`] : []),
      ...(isBiased
        ? [
            `fn biasOf(h: u32, after: i32) -> f32 { return ${biasName}[h * ${distances}u + u32(clamp(after, -${reach}, ${reach}) + ${reach})]; }`,
          ]
        : []),
    ],
  };
}

/** Copies bias and sinks to the memory that kernels with both read, for runs with the numbers of tokens that `takes` accepts. */
export function gatherTerms(call: AttentionCall, takes: (tokens: number) => boolean): Dispatch {
  const { all } = biasSizes(call);
  const count = all + maximum(elementAt(call.inputs[0].shape, 1));
  return defineDispatch({
    bindings: [input("sinks", 6), input("bias", 7), { ...gatheredTerms(call), access: "read_write" }],
    uniforms: {},
    lanes: gatherLanes,
    body: `
      let i = group * ${gatherLanes}u + lane;
      if (i < ${all}u) { terms[i] = bias[i]; } else if (i < ${count}u) { terms[i] = sinks[i - ${all}u]; }
    `,
    sizeIn: (dims) => ({ groups: takes(extent(call.inputs[0].shape, 0, dims)) ? Math.ceil(count / gatherLanes) : 0, values: {} }),
  });
}

/** A variable with a score of a head, and how far its key is after the query, an i32. */
export interface Score {
  readonly score: string;
  readonly after: string;
}

/** Statements that cap scores of a head and add what depends on the distance of a key from the query. */
export function adjustScores(
  params: ParamsOf<"attention">,
  { isBiased }: ScoreTerms,
  head: string,
  scores: readonly Score[],
): readonly string[] {
  const { softcap, alibi } = params;
  return [
    ...(softcap > 0 ? scores.map(({ score }) => `${score} = p.softcap * tanhOf(${score} / p.softcap);`) : []),
    ...(alibi > 0
      ? [
          `{ let slope = slopeOf(${head});`,
          ...scores.map(({ score, after }) => `${score} += slope * ${alibiDistance(params, `f32(${after})`)};`),
          "}",
        ]
      : []),
    ...(isBiased ? scores.map(({ score, after }) => `${score} += biasOf(${head}, ${after});`) : []),
  ];
}
