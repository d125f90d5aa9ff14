import { expect, test } from "vitest";
import { emitGroups } from "../src/blockProducts/groups.ts";
import { ModuleBuilder } from "../src/emit/index.ts";
import { groupRows } from "../src/formats/block.ts";
import { formatNames, formatOf } from "../src/formats/index.ts";
import { memoryMap } from "../src/memory/memoryMap.ts";
import { targets } from "./shared.ts";

const relaxed = targets.at(-1)!.relaxed;

test.runIf(relaxed)("a token's products read nothing after the weights", () => {
  const module = new ModuleBuilder({ constants: memoryMap.constants, hasTable: true });
  emitGroups(module, { relaxed, dots: "pairs" });
  const memory = new WebAssembly.Memory({ initial: 16, maximum: 65_536 });
  const table = new WebAssembly.Table({ element: "anyfunc", initial: module.functions.length });
  const zero = new WebAssembly.Global({ value: "i32", mutable: false }, 0);
  const env = { memory, table, base: zero, thread: zero };
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.build()), { env });
  const [activations, results] = [memoryMap.heap, memoryMap.heap + 2 ** 16];
  for (const name of formatNames) {
    const call = exports[`groups1.${name}`] as (...args: number[]) => void;
    for (const [rows, blocks] of [
      [groupRows, 1],
      [2 * groupRows, 16],
      [2 * groupRows + 1, 32],
    ] as const) {
      const groups = Math.ceil(rows / groupRows);
      const weights = memory.buffer.byteLength - groups * groupRows * blocks * formatOf(name).bytes;
      expect(() => call(weights, activations, results, rows, blocks)).not.toThrow();
    }
  }
});
