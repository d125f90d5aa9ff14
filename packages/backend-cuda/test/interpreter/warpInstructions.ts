import { Fault } from "./memory.ts";
import { type Instruction, listOf, operand, target } from "./parse.ts";

/** The matrix instructions of a warp: shape and types as {@link multiply} in packed.ts takes them, and registers of the result and each operand. */
const products: Readonly<Record<string, readonly [shape: string, counts: readonly [number, number, number, number]]>> = {
  "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32": ["f16", [4, 4, 2, 4]],
  "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32": ["bf16", [4, 4, 2, 4]],
  "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32": ["tf32", [4, 4, 2, 4]],
  "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32": ["s8", [4, 4, 2, 4]],
};

/** Names of instructions that the lanes of a warp reach together. */
export const warpInstructionName = /^(shfl|vote|redux|bar\.warp|ldmatrix|stmatrix|mma)\./;

/** An instruction that the lanes of a warp reach together, as JavaScript. `meeting` numbers the place. */
export function warpInstruction(instruction: Instruction, meeting: number): string {
  const { name, operands, text } = instruction;
  const meet = `yield ${meeting}; m.thread = tid;`;
  switch (name) {
    case "shfl.sync.bfly.b32":
    case "shfl.sync.idx.b32": {
      const [to, value, lane, clamp, members] = operands;
      if (clamp !== "31" || members !== "0xFFFFFFFF") throw new Fault(`unknown shuffle: ${text}`);
      const from = name === "shfl.sync.idx.b32" ? `(tid & ~31) + ${lane}` : `tid ^ ${lane}`;
      return `lanes[tid] = ${operand(value!)}; ${meet} ${target(to!)} = held[${from}];`;
    }
    case "vote.sync.any.pred": {
      const [to, condition, members] = operands;
      if (members !== "0xFFFFFFFF") throw new Fault(`a vote of a part of a warp: ${text}`);
      const any = "held.slice(tid & ~31, (tid | 31) + 1).some(Boolean)";
      return `lanes[tid] = ${operand(condition!)}; ${meet} ${target(to!)} = ${any};`;
    }
    case "bar.warp.sync":
      if (operands[0] !== "0xFFFFFFFF") throw new Fault(`a barrier of a part of a warp: ${text}`);
      return `${meet} m.passWarpBarrier();`;
    default:
      return reduction(instruction, meet) ?? matrices(instruction, meet) ?? matrixProduct(instruction, meet);
  }
}

/** Operations on two values of a reduction of lanes. */
const reductions: Readonly<Record<string, string>> = {
  add: "a + b",
  min: "Math.min(a, b)",
  max: "Math.max(a, b)",
  and: "a & b",
  or: "a | b",
  xor: "a ^ b",
};

/** Every lane hands in its value, and combines those of all. */
function reduction({ name, operands: [to, value, members], text }: Instruction, meet: string): string | undefined {
  const [, operation, type] = /^redux\.sync\.(?:(add|min|max)\.(?=[us]32)|(?:and|or|xor)\.(?=b32))/.test(name)
    ? name.split(".").slice(1)
    : [];
  if (operation === undefined) return undefined;
  if (members !== "0xFFFFFFFF") throw new Fault(`a reduction of a part of a warp: ${text}`);
  const result = `held.slice(tid & ~31, (tid | 31) + 1).reduce((a, b) => ${reductions[operation]})`;
  return `lanes[tid] = ${operand(value!)}; ${meet} ${target(to!)} = ${result} ${type === "s32" ? "|" : ">>>"} 0;`;
}

/** Every lane hands in the address of a row, and reads or writes its parts of the matrices. */
function matrices({ name, operands, text }: Instruction, meet: string): string | undefined {
  const form = /^(ld|st)matrix\.sync\.aligned\.m8n8\.x([124])(\.trans)?\.shared\.b16$/.exec(name);
  if (form === null) return undefined;
  const isLoad = form[1] === "ld";
  const [list, address] = isLoad ? operands : operands.toReversed();
  const place = /^\[(%u\d+)\+(\d+)\]$/.exec(address!);
  if (place === null) throw new Fault(`not an address: ${text}`);
  const accesses = listOf(list!, Number(form[2]), text).flatMap((register, i) => {
    const rowOf = (row: string): string => `held[(tid & ~31) + ${8 * i} + ${row}]`;
    const verb = isLoad ? "read" : "write";
    if (form[3] === undefined) {
      const access = isLoad ? `${register} = m.view.getUint32(at, true);` : `m.view.setUint32(at, ${register}, true);`;
      return `at = m.matrixRow("${verb}", ${rowOf("((tid & 31) >> 2)")}, 4 * (tid & 3), 4); ${access}`;
    }
    // The halves of a word are those of two rows, in one column.
    return [0, 1].map((half) => {
      const found = half === 0 ? "m.view.getUint16(at, true)" : `(${register} | (m.view.getUint16(at, true) << 16)) >>> 0`;
      const access = isLoad ? `${register} = ${found};` : `m.view.setUint16(at, (${register} >>> ${16 * half}) & 65535, true);`;
      return `at = m.matrixRow("${verb}", ${rowOf(`2 * (tid & 3) + ${half}`)}, 2 * ((tid & 31) >> 2), 2); ${access}`;
    });
  });
  return `lanes[tid] = ${target(place[1]!)} + ${place[2]}; ${meet} ${accesses.join(" ")}`;
}

/** Every lane hands in its parts of the matrices, and computes its part of the product when all have. */
function matrixProduct({ name, operands, text }: Instruction, meet: string): string {
  const product = products[name];
  if (product === undefined) throw new Fault(`unknown instruction: ${text}`);
  const [type, counts] = product;
  const [to, a, b, c] = operands.map((list, i) => listOf(list, counts[i]!, text));
  const parts = [...a!, ...b!, ...c!].join(", ");
  return `lanes[tid] = [${parts}]; ${meet} [${to!.join(", ")}] = $multiply("${type}", held, tid);`;
}
