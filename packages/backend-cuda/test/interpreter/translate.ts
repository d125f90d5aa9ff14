import { expression } from "./arithmetic.ts";
import { checkDefinitions, checkProductFences } from "./checks.ts";
import { clusterBarrier, clusterRegister } from "./clusterInstructions.ts";
import { waitsForCopies, warpgroupMeeting } from "./meetings.ts";
import { Fault } from "./memory.ts";
import { type Instruction, listOf, operand, type ParsedKernel, productName, registersOf, target } from "./parse.ts";
import { shareRegisters } from "./registers.ts";

/**
 * A parsed kernel as the source of a JavaScript generator: one thread, which yields 0 at the block's barrier, n > 0 at the n-th place where
 * lanes of a warp meet. For waits and other meetings see {@link waitsForCopies}, {@link waitsForCluster}, {@link warpgroupMeeting}, {@link someBarrier}.
 */
export function translate(parsed: ParsedKernel): string {
  checkDefinitions(parsed);
  checkProductFences(parsed);
  const kernel = shareRegisters(parsed);
  const lists = productLists(kernel);
  const fragments = fragmentLists(kernel);
  const places = new Map(kernel.blocks.flatMap(({ label }, i) => (label === undefined ? [] : [[label, i] as const])));
  let meetings = 0;
  const cases = kernel.blocks.map(({ instructions }, i) => {
    const lines = instructions.map((instruction) => {
      const { name, guard, operands, text } = instruction;
      if (name === "bra") {
        const place = places.get(operands[0]!);
        if (place === undefined) throw new Fault(`no label ${operands[0]}`);
        const jump = `{ b = ${place}; continue; }`;
        return guard === undefined ? jump : `if (${guard.negated ? "!" : ""}${guard.register}) ${jump}`;
      }
      if (guard !== undefined) throw new Fault(`a guard on another instruction than bra: ${text}`);
      if (name === "ret") return "return;";
      if (name === "bar.sync") {
        const [number, count] = operands as [string, string?];
        return `yield ${count === undefined ? 0 : `$someBarrier(${operand(number)}, ${count})`}; m.thread = tid;`;
      }
      if (/^(wgmma|setmaxnreg)\./.test(name)) return warpgroupInstruction(instruction, ++meetings, { lists, fragments });
      if (/^(shfl|vote|redux|bar\.warp|ldmatrix|stmatrix|mma)\./.test(name)) return warpInstruction(instruction, ++meetings);
      if (name.startsWith("barrier.cluster.")) return clusterBarrier(instruction, ++meetings);
      if (/^(mbarrier|fence|cp)\./.test(name)) return asynchronous(instruction);
      if (name === "griddepcontrol.launch_dependents" || name === "prefetch.tensormap") return "";
      if (name === "griddepcontrol.wait") return "m.waitForEarlier();";
      return statement(instruction, kernel);
    });
    return `case ${i}:\n${lines.join("\n")}`;
  });
  return `"use strict";
const { $busy, $f16, $toF16, $toBf16, $even, $float, $uint, $clampS32, $clampU32, $logic3, $pickBytes, $multiply, $dotBytes, $ofPairs, $oddFma, $someBarrier } = helpers;
return function* (m, params, tables, tid, ctaid, grid, lanes, held) {
  let ${kernel.registers.map((register) => `${register} = 0`).join(", ")};
  let b = 0;
  let at = 0;
  for (;;) switch (b) {
${cases.join("\n")}
    throw new Error("ran off the end");
  }
};`;
}

const accessors: Readonly<Record<string, readonly [string, number]>> = {
  f32: ["Float32", 4],
  f64: ["Float64", 8],
  s32: ["Int32", 4],
  u32: ["Uint32", 4],
  b16: ["Uint16", 2],
  u8: ["Uint8", 1],
};

function statement({ name, operands, text }: Instruction, kernel: ParsedKernel): string {
  const parts = name.split(".");
  const access = /^(ld|st)\.(global|shared|shared::cluster)\.(\w+)$/.exec(name);
  if (access !== null) {
    const [, kind, space, type] = access;
    const [accessor, bytes] = accessors[type!]!;
    const place = /^\[(%[lu]\d+)\+(\d+)\]$/.exec(operands[kind === "ld" ? 1 : 0]!);
    if (place === null) throw new Fault(`not an address: ${text}`);
    if ((space === "global") !== place[1]!.startsWith("%l")) throw new Fault(`an address of another space: ${text}`);
    const at = checkedPlace(kind!, space!, `${target(place[1]!)} + ${place[2]}`, bytes);
    return kind === "ld"
      ? `at = ${at}; ${target(operands[0]!)} = m.view.get${accessor}(at, true);`
      : `at = ${at}; m.view.set${accessor}(at, ${operand(operands[1]!)}, true);`;
  }
  const vector = /^(ld|st)\.(global|shared|shared::cluster)\.v([24])\.(f32|b16|u32)$/.exec(name);
  if (vector !== null) {
    const [, kind, space, count, type] = vector;
    const [accessor, bytes] = accessors[type!]!;
    const [list, address] = kind === "ld" ? operands : operands.toReversed();
    const place = /^\[(%[lu]\d+)\+(\d+)\]$/.exec(address!);
    if (place === null) throw new Fault(`not an address: ${text}`);
    if ((space === "global") !== place[1]!.startsWith("%l")) throw new Fault(`an address of another space: ${text}`);
    const registers = listOf(list!, Number(count), text);
    const accesses = registers.map((register, i) =>
      kind === "ld"
        ? `${register} = m.view.get${accessor}(at + ${i * bytes}, true);`
        : `m.view.set${accessor}(at + ${i * bytes}, ${register}, true);`,
    );
    return `at = ${checkedPlace(kind!, space!, `${target(place[1]!)} + ${place[2]}`, Number(count) * bytes)}; ${accesses.join(" ")}`;
  }
  if (name === "mov.b32" && operands[0]!.startsWith("{")) {
    const [low, high] = listOf(operands[0]!, 2, text);
    return `${low} = ${operand(operands[1]!)} & 65535; ${high} = ${operand(operands[1]!)} >>> 16;`;
  }
  const added = /^red\.relaxed\.(gpu\.global|cluster\.shared::cluster)\.add\.([uf])32$/.exec(name);
  if (added !== null) {
    const method = added[1] === "gpu.global" ? "add" : "addRemote";
    return `m.${method}(${target(operands[0]!.slice(1, -1))}, ${operand(operands[1]!)}, "${added[2] === "f" ? "Float32" : "Uint32"}");`;
  }
  const to = target(operands[0]!);
  if (name === "mov.b64") return `${to} = [${parts64(operands[1]!, text).join(", ")}];`;
  if (name === "atom.acq_rel.gpu.global.add.u32")
    return `${to} = m.atomicAdd(${target(operands[1]!.slice(1, -1))}, ${operand(operands[2]!)});`;
  if (name === "atom.shared.add.u32") return `${to} = m.countUp(${target(operands[1]!.slice(1, -1))}, ${operand(operands[2]!)});`;
  if (name === "ld.param.u64") {
    const index = kernel.params.indexOf(operands[1]!.slice(1, -1));
    if (index < 0) throw new Fault(`no such parameter: ${text}`);
    return `${to} = params[${index}];`;
  }
  if (name === "mapa.shared::cluster.u32") return `${to} = m.mapShared(${operand(operands[1]!)}, ${operand(operands[2]!)});`;
  if (parts[0] === "mov") {
    const source = operands[1]!;
    const inCluster = clusterRegister(source, kernel.cluster);
    if (inCluster !== undefined) return `${to} = ${inCluster};`;
    if (source === "%tid.x") return `${to} = tid;`;
    const axis = /^%(n?)ctaid\.([xyz])$/.exec(source);
    if (axis !== null) return `${to} = ${axis[1] === "n" ? "grid" : "ctaid"}[${"xyz".indexOf(axis[2]!)}];`;
    if (source === "shared") return `${to} = 0;`;
    if (kernel.maps.includes(source)) return `${to} = ${kernel.maps.indexOf(source)};`;
    const table = kernel.tables.findIndex(({ name: known }) => known === source);
    if (table >= 0) return `${to} = tables[${table}];`;
    if (name === "mov.b32") return `${to} = ${recast(to[0]!, source[1]!, operand(source))};`;
    return `${to} = ${operand(source)};`;
  }
  if (name === "lop3.b32") return `${to} = $logic3(${operands.slice(1).map(operand).join(", ")});`;
  const [a, b, c] = operands.slice(1).map(operand) as [string, string, string];
  const value = expression(name, parts, a, b, c);
  if (value === undefined) throw new Fault(`unknown instruction: ${text}`);
  return `${to} = ${value};`;
}

/** A checked place in memory. */
function checkedPlace(kind: string, space: string, address: string, bytes: number): string {
  const verb = kind === "ld" ? "read" : "write";
  return space === "shared::cluster" ? `m.remote("${verb}", ${address}, ${bytes})` : `m.${verb}("${space}", ${address}, ${bytes})`;
}

/** Instructions that the lanes of a warp reach together. */
function warpInstruction(instruction: Instruction, meeting: number): string {
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
    case "redux.sync.add.u32":
    case "redux.sync.add.s32":
    case "redux.sync.min.u32":
    case "redux.sync.min.s32":
    case "redux.sync.max.u32":
    case "redux.sync.max.s32": {
      const [to, value, members] = operands;
      if (members !== "0xFFFFFFFF") throw new Fault(`a reduction of a part of a warp: ${text}`);
      const [, , operation, type] = name.split(".");
      const values = "held.slice(tid & ~31, (tid | 31) + 1)";
      const result = operation === "add" ? `${values}.reduce((a, b) => a + b)` : `Math.${operation}(...${values})`;
      return `lanes[tid] = ${operand(value!)}; ${meet} ${target(to!)} = ${result} ${type === "u32" ? ">>>" : "|"} 0;`;
    }
    case "bar.warp.sync":
      if (operands[0] !== "0xFFFFFFFF") throw new Fault(`a barrier of a part of a warp: ${text}`);
      return `${meet} m.passWarpBarrier();`;
    case "ldmatrix.sync.aligned.m8n8.x4.shared.b16":
      return matrixLoad(instruction, meet);
    case "stmatrix.sync.aligned.m8n8.x4.shared.b16":
      return matrixStore(instruction, meet);
    default:
      return matrixProduct(instruction, meet);
  }
}

/** Every lane hands in its parts of the matrices, and computes its part of the product when all have. */
function matrixProduct({ name, operands, text }: Instruction, meet: string): string {
  const type = /^mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.(f16|bf16)\.\1\.f32$/.exec(name)?.[1];
  if (type === undefined) throw new Fault(`unknown instruction: ${text}`);
  const [to, a, b, c] = operands.map((list, i) => listOf(list, [4, 4, 2, 4][i]!, text));
  const parts = [...a!, ...b!, ...c!].join(", ");
  return `lanes[tid] = [${parts}]; ${meet} [${to!.join(", ")}] = $multiply("${type}", held, tid);`;
}

/** Every lane hands in the address of a row, and reads its part of each matrix's rows. */
function matrixLoad({ operands, text }: Instruction, meet: string): string {
  const place = /^\[(%u\d+)\+(\d+)\]$/.exec(operands[1]!);
  if (place === null) throw new Fault(`not an address: ${text}`);
  const loads = listOf(operands[0]!, 4, text).map((register, i) => {
    const row = `held[(tid & ~31) + ${8 * i} + ((tid & 31) >> 2)]`;
    return `at = m.matrixRow("read", ${row}, 4 * (tid & 3)); ${register} = m.view.getUint32(at, true);`;
  });
  return `lanes[tid] = ${target(place[1]!)} + ${place[2]}; ${meet} ${loads.join(" ")}`;
}

/** Every lane hands in the address of a row, and writes its part of each matrix's rows. */
function matrixStore({ operands, text }: Instruction, meet: string): string {
  const place = /^\[(%u\d+)\+(\d+)\]$/.exec(operands[0]!);
  if (place === null) throw new Fault(`not an address: ${text}`);
  const stores = listOf(operands[1]!, 4, text).map((register, i) => {
    const row = `held[(tid & ~31) + ${8 * i} + ((tid & 31) >> 2)]`;
    return `at = m.matrixRow("write", ${row}, 4 * (tid & 3)); m.view.setUint32(at, ${register}, true);`;
  });
  return `lanes[tid] = ${target(place[1]!)} + ${place[2]}; ${meet} ${stores.join(" ")}`;
}

/** The words of `{low,high}`. */
function parts64(list: string, text: string): readonly string[] {
  const words = /^\{(.*)\}$/.exec(list)?.[1]?.split(",").map(operand);
  if (words?.length !== 2) throw new Fault(`expected two words: ${text}`);
  return words;
}

function productsOf({ blocks }: ParsedKernel): readonly Instruction[] {
  return blocks.flatMap(({ instructions }) => instructions.filter(({ name }) => productName.test(name)));
}

/** The lists of registers that products write. */
function productLists(kernel: ParsedKernel): readonly string[] {
  return [...new Set(productsOf(kernel).map(({ operands }) => operands[0]!))];
}

/** The lists of registers that products read as their left matrix. */
function fragmentLists(kernel: ParsedKernel): readonly string[] {
  return [...new Set(productsOf(kernel).flatMap(({ operands: [, a] }) => (a!.startsWith("{") ? [a!] : [])))];
}

/** Instructions that the threads of a warpgroup reach together. */
function warpgroupInstruction(
  { name, operands, text }: Instruction,
  meeting: number,
  { lists, fragments }: { readonly lists: readonly string[]; readonly fragments: readonly string[] },
): string {
  const meet = `yield ${warpgroupMeeting(meeting)}; m.thread = tid;`;
  const shape = productName.exec(name);
  if (shape !== null) {
    const columns = Number(shape[1]);
    const [sums, a, b, adds, ...options] = operands as [string, string, string, string, ...string[]];
    const isFragment = a.startsWith("{");
    if (columns % 8 !== 0 || columns < 8 || columns > 256) throw new Fault(`no such product: ${text}`);
    if (options.length !== (isFragment ? 3 : 4) || options[0] !== "1" || options[1] !== "1") throw new Fault(`unknown options: ${text}`);
    const registers = listOf(sums, columns / 2, text);
    const left = isFragment ? `[${listOf(a, 4, text).join(", ")}]` : target(a);
    const traits = { type: shape[2], columns, isFragment, isTransposed: options.at(-1) === "1" };
    const parts = `{ list: ${lists.indexOf(sums)}, sums: [${registers.join(", ")}], a: ${left}, b: ${target(b)}, adds: !!${operand(adds)} }`;
    const hold = isFragment ? `${checkFragment(a, fragments)} m.products.holdFragment(tid, ${fragments.indexOf(a)}, ${left});` : "";
    return `${hold} lanes[tid] = ${parts}; ${meet} m.products.start(tid, ${JSON.stringify(traits)}, held); ${registers.join(" = ")} = $busy;`;
  }
  switch (name) {
    case "wgmma.fence.sync.aligned":
      return meet;
    case "wgmma.commit_group.sync.aligned":
      return `${meet} m.products.commit(tid);`;
    case "wgmma.wait_group.sync.aligned": {
      const taken = lists.map(
        (list, i) => `{ const sums = m.products.takeSums(tid, ${i}); if (sums !== undefined) [${registersOf(list).join(", ")}] = sums; }`,
      );
      const checks = fragments.map((list) => checkFragment(list, fragments));
      // The first thread waits for all, before any thread takes its sums.
      const wait = `m.products.wait(tid, ${Number(operands[0])}); yield ${warpgroupMeeting(meeting + 0.5)}; m.thread = tid;`;
      return `${meet} ${wait} ${checks.join(" ")} ${taken.join(" ")}`;
    }
    case "setmaxnreg.inc.sync.aligned.u32":
    case "setmaxnreg.dec.sync.aligned.u32":
      return `${meet} m.products.setRegisters(tid, ${Number(operands[0])}, held.length);`;
    default:
      throw new Fault(`unknown instruction: ${text}`);
  }
}

/** Checks that a left matrix in registers is still what an earlier product may be reading. */
function checkFragment(list: string, fragments: readonly string[]): string {
  const number = fragments.indexOf(list);
  return `if (m.products.holdsFragment(tid, ${number})) m.products.checkFragment(tid, ${number}, [${registersOf(list).join(", ")}]);`;
}

/** Barriers in shared memory and the copies that they announce. */
function asynchronous({ name, operands, text }: Instruction): string {
  const address = (item: string | undefined): string => target(item?.slice(1, -1) ?? "");
  switch (name) {
    case "cp.async.cg.shared.global":
      return `m.copyPiece(${address(operands[0])}, ${address(operands[1])}, ${operands.slice(2).map(operand).join(", ")});`;
    case "cp.async.commit_group":
      return "m.commitCopies();";
    case "cp.async.wait_group":
      return `m.waitCopies(${operand(operands[0]!)});`;
    case "mbarrier.init.shared::cta.b64":
      return `m.initBarrier(${address(operands[0])}, ${operand(operands[1]!)});`;
    case "fence.mbarrier_init.release.cluster":
      return "m.fenceBarriers();";
    case "fence.proxy.async.shared::cta":
      return "m.fenceAsyncProxy();";
    case "mbarrier.arrive.release.cluster.shared::cluster.b64":
      return `m.arriveRemote(${address(operands[1])});`;
    case "mbarrier.arrive.shared::cta.b64":
      return `m.expectBytes(${address(operands[1])}, 0);`;
    case "cp.async.bulk.global.shared::cta.bulk_group": {
      const [to, from, bytes] = operands;
      return `m.storeBulk(${address(to)}, ${address(from)}, ${operand(bytes!)});`;
    }
    case "cp.async.bulk.commit_group":
      return "m.commitBulk();";
    case "cp.async.bulk.wait_group.read":
      return `m.waitBulkReads(${Number(operands[0])});`;
    case "mbarrier.arrive.expect_tx.shared::cta.b64":
      return `m.expectBytes(${address(operands[1])}, ${operand(operands[2]!)});`;
    case "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes":
    case "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster": {
      const [to, from, bytes, barrier, ...blocks] = operands;
      return `m.copyBulk(${[address(to), address(from), operand(bytes!), address(barrier), ...blocks.map(operand)].join(", ")});`;
    }
    case "cp.async.bulk.prefetch.L2.global":
      return `m.prefetchBulk(${address(operands[0])}, ${operand(operands[1]!)});`;
    case "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes":
    case "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster": {
      const [to, source, barrier, ...blocks] = operands;
      const place = /^\[(%l\d+),\{(%u\d+),(%u\d+)\}\]$/.exec(source!);
      if (place === null) throw new Fault(`not a box: ${text}`);
      const box = place.slice(1).map((each) => target(each));
      return `m.copyBox(${[address(to), ...box, address(barrier), ...blocks.map(operand)].join(", ")});`;
    }
    case "mbarrier.try_wait.parity.shared::cta.b64":
    case "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64": {
      const isDone = target(operands[0]!);
      const test = `m.tryWait(${address(operands[1])}, ${operand(operands[2]!)}, ${name.includes(".cluster.")})`;
      return `${isDone} = ${test}; if (!${isDone}) { yield ${waitsForCopies}; m.thread = tid; }`;
    }
    default:
      throw new Fault(`unknown instruction: ${text}`);
  }
}

function recast(to: string, from: string, value: string): string {
  if (to === from) return value;
  if (to === "f") return `$float(${value})`;
  const unsigned = from === "f" ? `$uint(${value})` : value;
  return to === "s" ? `(${unsigned} | 0)` : `(${unsigned} >>> 0)`;
}
