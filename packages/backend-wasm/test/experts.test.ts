import { uniform } from "@centella/conformance";
import { createProgram, type TensorSource } from "@centella/core";
import { quantize } from "@centella/quant";
import { afterEach, expect, test, vi } from "vitest";
import { openBackend } from "../src/backend.ts";
import { checkedOptions } from "../src/options.ts";
import { ThreadPool } from "../src/threads/pool.ts";

const [count, n, k, most, chosen] = [8, 512, 512, 64, 4];

const source = (bytes: Uint8Array): TensorSource => ({
  size: bytes.length,
  read: async (from, length) => bytes.subarray(from, from + length),
});

afterEach(() => void vi.restoreAllMocks());

test.each(["q4_0", "f32"] as const)(
  "a prompt's products with %s experts are the pool's, to the bit those of single tokens",
  async (dtype) => {
    const backend = await openBackend(checkedOptions({ threads: 2 }));
    const program = createProgram();
    const T = program.dim("T", most);
    const experts = program.persistent("experts", { dtype, shape: [count, n, k] });
    const [x, ids] = [program.input("x", "f32", [T, k]), program.input("ids", "i32", [T, chosen])];
    program.output("y", program.moeMatmul(x, experts, ids));
    const plan = await backend.compile(program);
    const weights = uniform(1, count * n * k);
    await plan.load("experts", source(dtype === "f32" ? new Uint8Array(weights.buffer) : quantize(dtype, weights)));
    const inputs = uniform(2, most * k);
    // One expert has no tokens, and some ids are out of range.
    const choice = Int32Array.from({ length: most * chosen }, (_, i) => (i % 37 === 5 ? -1 : (i * 5 + (i >> 4)) % (count - 1)));
    const run = async (from: number, tokens: number): Promise<Float32Array> => {
      const ranges = { x: inputs.subarray(from * k, (from + tokens) * k), ids: choice.subarray(from * chosen, (from + tokens) * chosen) };
      return (await plan.run(ranges).y!.data()) as Float32Array;
    };
    const shared = vi.spyOn(ThreadPool.prototype, "run");
    const whole = await run(0, most);
    expect(shared).toHaveBeenCalled();
    for (const token of [0, 1, 17, most - 1]) {
      const single = await run(token, 1);
      expect(single).toEqual(whole.subarray(token * chosen * n, (token + 1) * chosen * n));
    }
    await backend.dispose();
  },
);
