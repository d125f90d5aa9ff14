import { contentsOf, uniform } from "@centella/conformance";
import { type Backend, createProgram, type DType, reference } from "@centella/core";
import { isFullGrid } from "@centella/test-devices";
import { afterAll, expect, test } from "vitest";
import { describeOpened } from "./describeOpened.ts";
import { openBackend } from "./openBackend.ts";

/** Two sequences of 150 and 70 positions in blocks of 16, and their tokens in turn, so that neighbours differ in sequence. */
const [slots, size, heads, kvHeads, blockSize, blocks] = [512, 32, 8, 2, 16, 12];
const lengths = Int32Array.of(150, 70);
const table = Int32Array.from({ length: 2 * blocks }, (_, i) => (i * 7) % (slots / blockSize));

/** What is added to scores besides products; the bias has 11 distances. */
interface Terms {
  readonly hasSinks?: boolean;
  readonly hasBias?: boolean;
}

async function results(backend: Backend, dtype: DType, options: object, terms: Terms, tokens: readonly number[]) {
  const program = createProgram();
  const T = program.dim("T", Math.max(...tokens));
  const q = program.input("q", "f32", [T, heads, size]);
  const integers = (name: string, shape: readonly (number | typeof T)[]) => program.input(name, "i32", shape);
  const spec = { dtype, shape: [slots, kvHeads, 2 * size] };
  const cache = program.constant(contentsOf(spec, 5).stored, dtype, spec.shape);
  const lists = [integers("positions", [T]), integers("seqOf", [T]), integers("table", [2, blocks]), integers("lengths", [2])] as const;
  const { hasSinks = false, hasBias = false } = terms;
  const optional = {
    ...(hasSinks && { sinks: program.input("sinks", "f32", [heads]) }),
    ...(hasBias && { bias: program.input("bias", "f32", [heads, 11]) }),
  };
  program.output("y", program.attention(q, cache, ...lists, { scale: 0.2, blockSize, ...options, ...optional }));
  const plan = await backend.compile(program);
  const found = [];
  for (const count of tokens) {
    const seqOf = Int32Array.from({ length: count }, (_, t) => (t % 5 < 3 ? 0 : 1));
    const inputs = {
      ...{ q: uniform(count, count * heads * size), seqOf, table, lengths },
      positions: seqOf.map((s, t) => lengths[s]! - 1 - (t % 64)),
      ...(hasSinks && { sinks: Float32Array.of(0.5, -1, 2, 0, 1, 1, -2, 0) }),
      ...(hasBias && { bias: uniform(9, heads * 11) }),
    };
    found.push(await plan.run(inputs).y!.data());
  }
  plan.dispose();
  return found;
}

await describeOpened("attention with lanes that share positions", openBackend(), ({ backend }) => {
  afterAll(() => backend.dispose());

  const all = isFullGrid ? [1, 3, 131, 520] : [1, 3, 520];
  const forms: readonly (readonly [string, DType, object, Terms, readonly number[]])[] = [
    ["of halves", "f16", {}, {}, all],
    ["of blocks, with sinks and a bias", "q8_0", {}, { hasSinks: true, hasBias: true }, all],
    ["of floats in a window, with sinks", "f32", { window: 40 }, { hasSinks: true }, all],
    ["with bounded scores and slopes", "f16", { softcap: 3, alibi: 8 }, {}, [1, 3, 520]],
    ["with slopes to both sides", "f16", { causal: false, alibi: 8 }, {}, [520]],
    ["with a bias to both sides in a window", "f16", { causal: false, window: 40 }, { hasBias: true }, all],
  ];
  test.each(isFullGrid ? forms : forms.slice(0, 2))("equals the reference: %s", async (_name, dtype, options, terms, tokens) => {
    const [got, want] = await Promise.all([backend, await reference().open()].map((each) => results(each, dtype, options, terms, tokens)));
    for (const [i, rows] of want!.entries()) {
      const worst = Array.from(rows, (value, at) => Math.abs(value - got![i]![at]!)).reduce((x, y) => Math.max(x, y));
      expect(worst, `${tokens[i]} tokens`).toBeLessThan(1e-5);
    }
  });
});
