import { contentsOf, random } from "@centella/conformance";
import { createProgram, type Dim, type DType, type ParamsOf, reference, type TensorSpec, type TypedArray } from "@centella/core";
import { expect } from "vitest";
import type { AttentionCall } from "../../src/kernels/attention/attentionCall.ts";
import type { Dispatch } from "../../src/kernels/shared/kernel.ts";
import { runDispatches } from "./runDispatches.ts";

/** A call of `attention` whose tokens belong to three sequences, in a cache whose blocks are in random order. */
export interface AttentionCase {
  readonly dtype: DType;
  readonly sizes: readonly [dK: number, dV: number];
  readonly heads: readonly [queries: number, cached: number];
  readonly tokens: number;
  readonly params?: Partial<ParamsOf<"attention">>;
  readonly hasSinks?: boolean;
  /** Distances of the bias to each side. */
  readonly reach?: number;
  /** Whether the cache lacks a block of the first sequence. */
  readonly hasGap?: boolean;
}

const [blockSize, maxBlocks] = [16, 16];
const lengths = [250, 130, 70] as const;
const blocks = lengths.length * maxBlocks;
const slots = blocks * blockSize;

/** The block of the first sequence that {@link AttentionCase.hasGap} removes. */
const gap = 3;

const inputNames = ["q", "cache", "positions", "seqOf", "blockTable", "seqLens", "sinks", "bias"] as const;

/** Specs and parameters of the call. */
export function attentionCall(given: Omit<AttentionCase, "tokens"> & { readonly tokens: Dim }): {
  readonly call: AttentionCall;
  readonly params: ParamsOf<"attention">;
} {
  const { dtype, sizes, heads, tokens, hasSinks, reach } = given;
  const [[dK, dV], [H, Hkv]] = [sizes, heads];
  const spec = (type: DType, ...shape: Dim[]): TensorSpec => ({ dtype: type, shape });
  return {
    call: {
      inputs: [
        ...([spec("f32", tokens, H, dK), spec(dtype, slots, Hkv, dK + dV), spec("i32", tokens), spec("i32", tokens)] as const),
        ...([spec("i32", lengths.length, maxBlocks), spec("i32", lengths.length)] as const),
        hasSinks === true ? spec("f32", H) : undefined,
        reach === undefined ? undefined : spec("f32", H, 2 * reach + 1),
      ],
      output: spec("f32", tokens, H, dV),
    },
    params: { ...plain, scale: 1 / Math.sqrt(dK), blockSize, ...given.params },
  };
}

type Contents = Readonly<Record<string, TypedArray>>;

/** Contents of the inputs as kernels bind them, and what the scalar reference computes. */
export function attentionData(given: AttentionCase): { readonly contents: Contents; readonly expected: () => Promise<Float32Array> } {
  const contents = contentsFor(given);
  if (given.hasGap !== true) return { contents, expected: () => referenceResult(given, contents) };
  const blockTable = (contents.blockTable as Int32Array).with(gap, -1);
  return { contents: { ...contents, blockTable }, expected: () => referenceResult(given, withoutGap(contents)) };
}

const plain = { causal: true, window: 0, softcap: 0, alibi: 0, activations: "f32" } as const;

/** Three fifths of the tokens are the last ones of the first sequence, the others those of the second, then of the second and third in turn. */
function contentsFor(given: AttentionCase): Contents {
  const { tokens } = given;
  const [first, apart] = [Math.ceil(0.6 * tokens), Math.ceil(0.8 * tokens)];
  const seqOf = Int32Array.from({ length: tokens }, (_, t) => (t < first ? 0 : t < apart ? 1 : 1 + (t % 2)));
  const counts = lengths.map((_, s) => seqOf.filter((each) => each === s).length);
  const positions = seqOf.map((s, t) => lengths[s]! - counts[s]! + seqOf.subarray(0, t).filter((each) => each === s).length);
  // With causal attention, the last token sees nothing.
  if (tokens > 8) positions[tokens - 1] = -1;
  const [q, cache, , , , , sinks, bias] = attentionCall(given).call.inputs.map(
    (spec, i) => spec && contentsOf({ dtype: spec.dtype, shape: spec.shape.map(Number) }, i + 1).stored,
  );
  return {
    ...{ q: q!, cache: cache!, positions, seqOf },
    ...{ blockTable: shuffled(blocks), seqLens: Int32Array.from(lengths) },
    ...(sinks !== undefined && { sinks }),
    ...(bias !== undefined && { bias }),
  };
}

function shuffled(count: number): Int32Array {
  const next = random(4);
  const keys = Float64Array.from({ length: count }, next);
  return Int32Array.from(keys.keys()).sort((a, b) => keys[a]! - keys[b]!);
}

/** The same attention without the block that is missing: positions after it are those before by a block. All tokens come after it. */
function withoutGap(contents: Contents): Contents {
  const [table, seqOf, positions] = [contents.blockTable, contents.seqOf, contents.positions] as Int32Array[];
  const own = table!.subarray(0, maxBlocks);
  return {
    ...contents,
    blockTable: Int32Array.of(...own.subarray(0, gap), ...own.subarray(gap + 1), own[gap]!, ...table!.subarray(maxBlocks)),
    positions: positions!.map((position, t) => position - (seqOf![t] === 0 ? blockSize : 0)),
    seqLens: Int32Array.from(lengths, (length, s) => length - (s === 0 ? blockSize : 0)),
  };
}

async function referenceResult(given: AttentionCase, contents: Contents): Promise<Float32Array> {
  const { call, params } = attentionCall(given);
  const program = createProgram();
  const values = call.inputs.map((spec, i) => spec && program.input(inputNames[i]!, spec.dtype, spec.shape));
  const [q, cache, positions, seqOf, blockTable, seqLens, sinks, bias] = values;
  const optional = { ...(sinks && { sinks }), ...(bias && { bias }) };
  program.output("y", program.attention(q!, cache!, positions!, seqOf!, blockTable!, seqLens!, { ...params, ...optional }));
  const plan = await (await reference().open()).compile(program);
  return (await plan.run(contents).y!.data()) as Float32Array;
}

/** The largest error of dispatches that compute the call. */
export async function worstError(device: GPUDevice, given: AttentionCase, dispatches: readonly Dispatch[]): Promise<number> {
  const { contents, expected } = attentionData(given);
  const want = await expected();
  const scratch = dispatches.flatMap(({ bindings }) =>
    bindings.flatMap(({ name, resource }) => (resource.kind === "scratch" ? [[name, resource.bytes] as const] : [])),
  );
  const memory = {
    ...Object.fromEntries(Object.entries(contents).map(([name, { buffer }]) => [name, new Uint8Array(buffer as ArrayBuffer)])),
    ...Object.fromEntries(scratch),
    y: want.byteLength,
  };
  const bound = dispatches.map((dispatch) => ({
    dispatch,
    buffers: Object.fromEntries(dispatch.bindings.map(({ name }) => [name, name])),
  }));
  const [y] = await runDispatches(device, bound, memory, ["y"]);
  const got = new Float32Array(y!);
  expect(got.length).toBe(want.length);
  return want.map((value, i) => Math.abs(value - got[i]!)).reduce((a, b) => Math.max(a, b));
}
