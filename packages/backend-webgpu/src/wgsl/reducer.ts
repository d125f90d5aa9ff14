import type { NumberType, Reducer, Values } from "@centella/gpu-kernels";
import type { WgslArithmetic } from "./arithmetic.ts";

/** What reductions are written with. */
interface GroupText extends Pick<WgslArithmetic, "define" | "lines"> {
  /** Lanes of a group, and those that exchange values in registers: powers of two. */
  readonly lanes: number;
  readonly subgroup: number;
  /** Declares shared memory and returns its name. */
  sharedCells(type: NumberType, count: number): string;
  /** The values of the lane whose number differs in bit `mask`. */
  exchange<const T extends readonly NumberType[]>(values: Values<T>, mask: number): Values<T>;
}

/** Cells of shared memory that one lane combines. With more, several lanes do first. */
const fewCells = 8;

/**
 * A reduction over the lanes of each subgroup in registers, then over subgroups in shared memory, in two steps where there are many: a
 * barrier takes longer than some additions. The number of lanes is a power of two.
 */
export function reducerOf<const T extends readonly NumberType[]>(k: GroupText, types: T): Reducer<T> {
  const together = Math.min(k.subgroup, k.lanes);
  const groups = k.lanes / together;
  const result = groups <= together && groups > 1 ? groups : 0;
  const cells = types.map((type) => k.sharedCells(type, groups + (result > 0 ? 1 : 0)));
  // A tuple through `map` is an array to the types.
  const read = (at: string): Values<T> => cells.map((cell, i) => k.define(types[i]!, `${cell}[${at}]`)) as unknown as Values<T>;
  const write = (at: string, values: Values<T>): void => cells.forEach((cell, i) => void k.lines.push(`${cell}[${at}] = ${values[i]};`));
  return (values, combine) => {
    let own = values;
    for (let mask = 1; mask < together; mask *= 2) own = combine(own, k.exchange<T>(own, mask));
    if (together === 1) write("lane", own);
    else {
      k.lines.push(`if (lane % ${together}u == 0u) {`);
      write(`lane / ${together}u`, own);
      k.lines.push("}");
    }
    if (result > 0) {
      k.lines.push("workgroupBarrier();");
      let all = read(`lane % ${groups}u`);
      for (let mask = 1; mask < groups; mask *= 2) all = combine(all, k.exchange<T>(all, mask));
      // Beyond the cells that slower lanes still read.
      k.lines.push("if (lane == 0u) {");
      write(`${groups}u`, all);
      k.lines.push("}");
    } else if (groups > 1) {
      const adders = groups <= fewCells ? [1] : [2 ** Math.ceil(Math.log2(groups) / 2), 1];
      let left = groups;
      for (const count of adders) {
        k.lines.push("workgroupBarrier();", `if (lane < ${count}u) {`);
        const values = Array.from({ length: left / count }, (_, i) => read(`lane + ${i * count}u`));
        write("lane", values.reduce(combine));
        k.lines.push("}");
        left = count;
      }
    }
    // Waits before and after: the cells can be used again. The cast has the reason of `read`.
    return cells.map((cell, i) => k.define(types[i]!, `workgroupUniformLoad(&${cell}[${result}])`)) as unknown as Values<T>;
  };
}
