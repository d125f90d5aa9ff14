import { type Backend, createProgram, type DType, type ParamsOf, type Program } from "@centella/core";
import { elementAt, lastOf } from "@centella/core/backend";
import { named } from "@centella/quant/checks";
import { expectClose } from "../compare.ts";
import { type ConformanceTest, programTest } from "../conformanceTest.ts";
import { uniform } from "../data.ts";
import { exact, type Tolerance } from "../opCases.ts";
import { chained, expectLikeReference, type Run, runAll, type Weights } from "./scenario.ts";

interface Variant {
  readonly name: string;
  readonly dtype: DType;
  readonly params?: Partial<ParamsOf<"attention">>;
  readonly sinks?: boolean;
}

const [heads, kvHeads] = [4, 2];
const length = 12;
const blockSize = 4;
const slotCount = 28;
/** Blocks of the two sequences interleave, and neither sequence is in order. */
const blockTable = Int32Array.of(5, 0, 3, 2, 6, 1);

const variants: readonly Variant[] = [
  { name: "f32", dtype: "f32" },
  { name: "f16", dtype: "f16" },
  { name: "q8_0", dtype: "q8_0" },
  { name: "window", dtype: "f32", params: { window: 5 } },
  { name: "softcap", dtype: "f32", params: { softcap: 1.5 } },
  { name: "alibi", dtype: "f32", params: { alibi: 8 } },
  { name: "sinks", dtype: "f32", sinks: true },
  { name: "f16, window, softcap, sinks", dtype: "f16", params: { window: 6, softcap: 2 }, sinks: true },
];

const sizesOf = ({ dtype }: Variant): readonly [number, number] => (dtype === "q8_0" ? [32, 32] : [8, 6]);

function layer(variant: Variant): Program {
  const [dK, dV] = sizesOf(variant);
  const program = createProgram();
  const T = program.dim("T", 2 * length);
  const cache = program.persistent("cache", { dtype: variant.dtype, shape: [slotCount, kvHeads, dK + dV] }, { init: "zeros" });
  const written = program.kvWrite(
    cache,
    program.input("k", "f32", [T, kvHeads, dK]),
    program.input("v", "f32", [T, kvHeads, dV]),
    program.input("slots", "i32", [T]),
  );
  const y = program.attention(
    program.input("q", "f32", [T, heads, dK]),
    written,
    program.input("positions", "i32", [T]),
    program.input("seqOf", "i32", [T]),
    program.constant(blockTable, "i32", [2, 3]),
    program.input("seqLens", "i32", [2]),
    {
      scale: 0.7,
      blockSize,
      ...variant.params,
      ...(variant.sinks === true ? { sinks: program.persistent("sinks", { dtype: "f32", shape: [heads] }) } : {}),
    },
  );
  program.output("y", y);
  return program;
}

/** One run over the tokens `[sequence, position]`. A token's values do not depend on its run. */
function runOf(variant: Variant, tokens: readonly (readonly [number, number])[]): Run {
  const [dK, dV] = sizesOf(variant);
  const rows = (what: number, size: number) =>
    Float32Array.from(tokens.flatMap(([sequence, position]) => [...uniform(1000 * what + 100 * sequence + position, size)]));
  const seen = [0, 1].map((sequence) => Math.max(0, ...tokens.filter(([s]) => s === sequence).map(([, position]) => position + 1)));
  return {
    inputs: {
      q: rows(1, heads * dK),
      k: rows(2, kvHeads * dK),
      v: rows(3, kvHeads * dV),
      slots: Int32Array.from(tokens, ([s, p]) => elementAt(blockTable, s * 3 + Math.floor(p / blockSize)) * blockSize + (p % blockSize)),
      positions: Int32Array.from(tokens, ([, position]) => position),
      seqOf: Int32Array.from(tokens, ([sequence]) => sequence),
      seqLens: Int32Array.from(seen),
    },
  };
}

const tokensOf = (from: number, to: number): readonly (readonly [number, number])[] =>
  Array.from({ length: to - from }, (_, i) => [0, 1].map((sequence) => [sequence, from + i] as const)).flat();

/** A prefill of 7 tokens and single steps return the same as one batch, bit for bit on a CPU. */
function stepsEqualBatch(variant: Variant): ConformanceTest {
  return programTest(`kv cache: prefill and steps equal one batch, ${variant.name}`, async (backend: Backend) => {
    const weights: Weights = variant.sinks === true ? { sinks: uniform(7, heads) } : {};
    const steps = [tokensOf(0, 7), ...Array.from({ length: length - 7 }, (_, i) => tokensOf(7 + i, 8 + i))];
    // f16 and q8_0 caches hold the same rounded values everywhere, but q8_0 may round exact ties to either side.
    const tolerance: Tolerance = variant.dtype === "q8_0" ? { rtol: 0, atol: 1e-2 } : chained;
    const stepped = await expectLikeReference(
      `steps, ${variant.name}`,
      backend,
      layer(variant),
      weights,
      steps.map((tokens) => runOf(variant, tokens)),
      tolerance,
    );
    const whole = lastOf(await runAll(backend, layer(variant), weights, [runOf(variant, tokensOf(0, length))]));
    const { spec, data } = named(whole, "y");
    expectClose({
      what: `${backend.name}: steps against one batch, ${variant.name}`,
      spec,
      got: Float32Array.from(stepped.flatMap((outputs) => [...named(outputs, "y").data])),
      want: data,
      tolerance: backend.device.kind === "cpu" ? exact : chained,
    });
  });
}

export const kvCache: readonly ConformanceTest[] = variants.map(stepsEqualBatch);
