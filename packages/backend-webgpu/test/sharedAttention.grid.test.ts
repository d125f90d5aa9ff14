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

async function results(backend: Backend, dtype: DType, options: object, hasSinks: boolean, tokens: readonly number[]) {
  const program = createProgram();
  const T = program.dim("T", Math.max(...tokens));
  const q = program.input("q", "f32", [T, heads, size]);
  const integers = (name: string, shape: readonly (number | typeof T)[]) => program.input(name, "i32", shape);
  const spec = { dtype, shape: [slots, kvHeads, 2 * size] };
  const cache = program.constant(contentsOf(spec, 5).stored, dtype, spec.shape);
  const lists = [integers("positions", [T]), integers("seqOf", [T]), integers("table", [2, blocks]), integers("lengths", [2])] as const;
  const sinks = hasSinks ? { sinks: program.input("sinks", "f32", [heads]) } : {};
  program.output("y", program.attention(q, cache, ...lists, { scale: 0.2, blockSize, ...options, ...sinks }));
  const plan = await backend.compile(program);
  const found = [];
  for (const count of tokens) {
    const seqOf = Int32Array.from({ length: count }, (_, t) => (t % 5 < 3 ? 0 : 1));
    const inputs = {
      ...{ q: uniform(count, count * heads * size), seqOf, table, lengths },
      positions: seqOf.map((s, t) => lengths[s]! - 1 - (t % 64)),
      ...(hasSinks && { sinks: Float32Array.of(0.5, -1, 2, 0, 1, 1, -2, 0) }),
    };
    found.push(await plan.run(inputs).y!.data());
  }
  plan.dispose();
  return found;
}

await describeOpened("attention with lanes that share positions", openBackend(), ({ backend }) => {
  afterAll(() => backend.dispose());

  const all = isFullGrid ? [1, 3, 131, 520] : [1, 3, 520];
  const forms: readonly (readonly [string, DType, object, boolean, readonly number[]])[] = [
    ["of halves", "f16", {}, false, all],
    ["of floats in a window, with sinks", "f32", { window: 40 }, true, all],
    ["with bounded scores and slopes", "f16", { softcap: 3, alibi: 8 }, false, [1, 3, 520]],
    ["with slopes to both sides", "f16", { causal: false, alibi: 8 }, false, [520]],
  ];
  test.each(isFullGrid ? forms : forms.slice(0, 1))("equals the reference: %s", async (_name, dtype, options, hasSinks, tokens) => {
    const [got, want] = await Promise.all(
      [backend, await reference().open()].map((each) => results(each, dtype, options, hasSinks, tokens)),
    );
    for (const [i, rows] of want!.entries()) {
      const worst = Array.from(rows, (value, at) => Math.abs(value - got![i]![at]!)).reduce((x, y) => Math.max(x, y));
      expect(worst, `${tokens[i]} tokens`).toBeLessThan(1e-5);
    }
  });
});
