import { expression } from "./arithmetic.ts";
import { checkDefinitions, checkProductFences } from "./checks.ts";
import { clusterBarrier, clusterRegister } from "./clusterInstructions.ts";
import { waitsForCopies, warpgroupMeeting } from "./meetings.ts";
import { Fault } from "./memory.ts";
import { type Instruction, listOf, operand, type ParsedKernel, productName, registersOf, target } from "./parse.ts";
import { shareRegisters } from "./registers.ts";
import { warpInstruction, warpInstructionName } from "./warpInstructions.ts";

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
      if (warpInstructionName.test(name)) return warpInstruction(instruction, ++meetings);
      if (name.startsWith("barrier.cluster.")) return clusterBarrier(instruction, ++meetings);
      const fence = /^fence\.(?:acq_rel|sc)\.(cta|cluster|gpu|sys)$/.exec(name);
      if (fence !== null) return `m.fence("${fence[1]}");`;
      if (/^(mbarrier|fence|cp)\./.test(name)) return asynchronous(instruction);
      if (name === "griddepcontrol.launch_dependents" || name === "prefetch.tensormap") return "";
      if (name === "griddepcontrol.wait") return "m.waitForEarlier();";
      return statement(instruction, kernel);
    });
    return `case ${i}:\n${lines.join("\n")}`;
  });
  return `"use strict";
const { $busy, $f16, $toF16, $toBf16, $toTf32, $even, $float, $uint, $clampS32, $clampU32, $logic3, $pickBytes, $multiply, $dotBytes, $ofPairs, $oddFma, $someBarrier } = helpers;
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
  if (name === "mov.b32" && operands[1]!.startsWith("{")) {
    const [low, high] = listOf(operands[1]!, 2, text);
    return `${target(operands[0]!)} = (${low} | ${high} << 16) >>> 0;`;
  }
  const added = /^red\.relaxed\.cluster\.shared::cluster\.add\.([uf])32$/.exec(name);
  if (added !== null)
    return `m.addRemote(${target(operands[0]!.slice(1, -1))}, ${operand(operands[1]!)}, "${added[1] === "f" ? "Float32" : "Uint32"}");`;
  const atomic = atomicAccess(name, operands);
  if (atomic !== undefined) return atomic;
  const to = target(operands[0]!);
  if (name === "mov.b64") return `${to} = [${parts64(operands[1]!, text).join(", ")}];`;
  if (name === "ld.param.u64") {
    const index = kernel.params.indexOf(operands[1]!.slice(1, -1));
    if (index < 0) throw new Fault(`no such parameter: ${text}`);
    return `${to} = params[${index}];`;
  }
  // There is no cache that would follow it.
  if (name.startsWith("createpolicy.")) return `${to} = 0;`;
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

/** What the names of registers' types say about views of memory. */
const viewTypes: Readonly<Record<string, string>> = { f: "Float32", s: "Int32", u: "Uint32" };

/** Changes of numbers in memory in one step, with ("atom") and without ("red") the number before. */
function atomicAccess(name: string, operands: readonly string[]): string | undefined {
  const [, kind, order, scope, space, operation, type] =
    /^(atom|red)\.(relaxed|acquire|release|acq_rel)\.(cta|cluster|gpu|sys)\.(global|shared)\.(?:(add)\.([usf]32)|(min|max)\.([us]32)|(and|or|xor|exch|cas)\.(b32))$/
      .exec(name)
      ?.filter((part) => part !== undefined) ?? [];
  if (operation === undefined) return undefined;
  const isResult = kind === "atom";
  if (!isResult && (operation === "exch" || operation === "cas" || order!.startsWith("acq"))) return undefined;
  const [address, ...values] = isResult ? operands.slice(1) : operands;
  // The type of bits is that of the register that gets them.
  const letter = type === "b32" ? (isResult ? operands[0]![1]! : "u") : type![0]!;
  const access = JSON.stringify({ operation, type: viewTypes[letter], order, scope });
  // "cas" has two values, of which the last one is written.
  const call = `m.atomic("${space}", ${target(address!.slice(1, -1))}, ${access}, ${values
    .toReversed()
    .map((value) => operand(value))
    .join(", ")});`;
  return isResult ? `${target(operands[0]!)} = ${call}` : call;
}

/** A checked place in memory. */
function checkedPlace(kind: string, space: string, address: string, bytes: number): string {
  const verb = kind === "ld" ? "read" : "write";
  return space === "shared::cluster" ? `m.remote("${verb}", ${address}, ${bytes})` : `m.${verb}("${space}", ${address}, ${bytes})`;
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
    case "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group":
      return `m.storeBox(${boxOf(operands[0]!, text).join(", ")}, ${address(operands[1])});`;
    case "cp.async.bulk.wait_group":
      return `m.waitBulk(${Number(operands[0])});`;
    case "cp.async.bulk.wait_group.read":
      return `m.waitBulkReads(${Number(operands[0])});`;
    case "mbarrier.arrive.expect_tx.shared::cta.b64":
      return `m.expectBytes(${address(operands[1])}, ${operand(operands[2]!)});`;
    case "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint":
      return `m.copyBulk(${[address(operands[0]), address(operands[1]), operand(operands[2]!), address(operands[3])].join(", ")});`;
    case "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes":
    case "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster": {
      const [to, from, bytes, barrier, ...blocks] = operands;
      return `m.copyBulk(${[address(to), address(from), operand(bytes!), address(barrier), ...blocks.map(operand)].join(", ")});`;
    }
    case "cp.async.bulk.prefetch.L2.global":
      return `m.prefetchBulk(${address(operands[0])}, ${operand(operands[1]!)});`;
    case "cp.async.bulk.prefetch.tensor.2d.L2.global.tile":
      return `m.prefetchBox(${boxOf(operands[0]!, text).join(", ")});`;
    case "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes":
    case "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster": {
      const [to, source, barrier, ...blocks] = operands;
      return `m.copyBox(${[address(to), ...boxOf(source!, text), address(barrier), ...blocks.map(operand)].join(", ")});`;
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

/** The tensor map, column and row of a box. */
function boxOf(operand: string, text: string): readonly string[] {
  const place = /^\[(%l\d+),\{(%u\d+),(%u\d+)\}\]$/.exec(operand);
  if (place === null) throw new Fault(`not a box: ${text}`);
  return place.slice(1).map((each) => target(each));
}

function recast(to: string, from: string, value: string): string {
  if (to === from) return value;
  if (to === "f") return `$float(${value})`;
  const unsigned = from === "f" ? `$uint(${value})` : value;
  return to === "s" ? `(${unsigned} | 0)` : `(${unsigned} >>> 0)`;
}
