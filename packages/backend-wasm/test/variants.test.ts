import { uniform } from "@centella/conformance/headless";
import { createProgram, type Program } from "@centella/core";
import { quantize } from "@centella/quant";
import { afterEach, expect, test, vi } from "vitest";
import { openBackend } from "../src/backend.ts";
import { WasmMemory } from "../src/memory/wasmMemory.ts";
import { checkedOptions } from "../src/options.ts";

const [longest, generated, width, heads, kvHeads, headSize] = [600, 1000, 64, 4, 2, 16];
const slots = longest + generated;

/** Attention between two products with quantized weights, for up to 600 tokens at once. */
function layer(): Program {
  const program = createProgram();
  const T = program.dim("T", longest);
  const x = program.input("x", "f32", [T, width]);
  const weight = (name: string) => program.persistent(name, { dtype: "q4_0", shape: [width, width] });
  const norm = program.rmsNorm(x, program.constant(new Float32Array(width).fill(1), "f32", [width]), { eps: 1e-5 });
  const q = program.reshape(program.matmul(norm, weight("wq"), { transposeB: true }), { shape: [T, heads, headSize] });
  const kv = program.reshape(program.slice(norm, { axis: 1, start: 0, end: kvHeads * headSize }), { shape: [T, kvHeads, headSize] });
  const cache = program.persistent("cache", { dtype: "f16", shape: [slots, kvHeads, 2 * headSize] }, { init: "zeros" });
  const places = program.input("places", "i32", [T]);
  const seen = program.attention(
    q,
    program.kvWrite(cache, kv, kv, places),
    places,
    program.input("seqOf", "i32", [T]),
    program.constant(
      Int32Array.from({ length: slots / 32 }, (_, i) => i),
      "i32",
      [1, slots / 32],
    ),
    program.input("length", "i32", [1]),
    { scale: 0.25, blockSize: 32 },
  );
  const flat = program.reshape(seen, { shape: [T, width] });
  program.output("y", program.add(x, program.matmul(flat, weight("wo"), { transposeB: true })));
  return program;
}

afterEach(() => void vi.restoreAllMocks());

test("prompts of 1 to 600 tokens and 1,000 single tokens compile nothing, and each number of tokens is recorded once", async () => {
  const backend = await openBackend(checkedOptions({ threads: 2 }));
  const plan = await backend.compile(layer());
  const bytes = quantize("q4_0", uniform(1, width * width));
  const source = { size: bytes.length, read: async (from: number, length: number) => bytes.subarray(from, from + length) };
  await plan.load("wq", source);
  await plan.load("wo", source);
  const compile = (["compile", "instantiate", "Module", "Instance"] as const).map((name) => vi.spyOn(WebAssembly, name));
  const record = vi.spyOn(WasmMemory.prototype, "record");
  const token = uniform(2, longest * width);
  const run = async (from: number, count: number): Promise<void> => {
    const { y } = plan.run({
      x: token.subarray(0, count * width),
      places: Int32Array.from({ length: count }, (_, i) => from + i),
      seqOf: new Int32Array(count),
      length: Int32Array.of(from + count),
    });
    await y!.data();
    y!.dispose();
  };
  await run(0, 1);
  const steps = record.mock.calls.length;
  for (let count = 2; count <= longest; count++) await run(0, count);
  expect(record).toHaveBeenCalledTimes(longest * steps);

  // The content and length of the cache are not extents.
  for (let at = longest; at < slots; at++) await run(at, 1);
  expect(record).toHaveBeenCalledTimes(longest * steps);
  for (const spy of compile) expect(spy).not.toHaveBeenCalled();
  await backend.dispose();
});
