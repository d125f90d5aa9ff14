import type { F32, NumberType } from "@centella/gpu-kernels";
import { WgslEmitter } from "./emitter.ts";

/** Writes a function, whose name its shared memory has. */
class FunctionEmitter extends WgslEmitter {
  readonly #name: string;

  constructor(name: string, lanes: number, subgroup: number) {
    super({}, lanes, { subgroup });
    this.#name = name;
  }

  override sharedCells(type: NumberType, count: number): string {
    const cells = `${this.#name}Cells`;
    this.addDeclarations([`var<workgroup> ${cells}: array<${type}, ${count}>;`]);
    return cells;
  }
}

/**
 * `fn <name>(lane: u32, value: f32) -> f32`, for kernels that are written as text: adds up one value per lane of a workgroup, or finds the
 * largest one. Every lane gets the result, and waits for the others. The order is fixed, so results repeat. `subgroup` lanes exchange values in
 * registers.
 */
export function workgroupReduce(name: string, combine: "add" | "max", lanes: number, subgroup = 1): string {
  const k = new FunctionEmitter(name, lanes, subgroup);
  const reduce = k.reducer(["f32"]);
  const [result] = reduce([k.define("f32", "value")], ([a], [b]): readonly [F32] => [k[combine](a, b)]);
  return [...k.declarations, `fn ${name}(lane: u32, value: f32) -> f32 {`, ...k.lines, `return ${result};`, "}"].join("\n");
}
