import { Fault } from "./memory.ts";

/** One instruction: `@[!]guard name operands`. */
interface Instruction {
  readonly text: string;
  readonly guard: { readonly register: string; readonly negated: boolean } | undefined;
  readonly name: string;
  readonly operands: readonly string[];
}

interface Block {
  readonly instructions: Instruction[];
  readonly label: string | undefined;
}

export interface ParsedKernel {
  readonly entry: string;
  readonly params: readonly string[];
  readonly maxThreads: number;
  /** Undefined where a launch says how much it is. */
  readonly sharedBytes: number | undefined;
  readonly tables: readonly { readonly name: string; readonly type: "f32" | "u32"; readonly values: readonly number[] }[];
  readonly blocks: readonly Block[];
  readonly registers: readonly string[];
}

/** Reads the subset of PTX that the builder writes. @throws {Fault} for anything else */
export function parse(ptx: string): ParsedKernel {
  const blocks: Block[] = [{ instructions: [], label: undefined }];
  const tables: ParsedKernel["tables"][number][] = [];
  const registers: string[] = [];
  let entry = "";
  let params: string[] = [];
  let maxThreads = 0;
  let sharedBytes: number | undefined = 0;
  for (const raw of ptx.split("\n")) {
    const line = raw.trim();
    if (line === "" || line === "{" || line === "}" || /^\.(version 8\.0|target sm_(80|90)|address_size 64|minnctapersm [12])$/.test(line))
      continue;
    const table = /^\.global \.align 8 \.(f32|u32) (\w+)\[(\d+)\] = \{(.*)\};$/.exec(line);
    const head = /^\.visible \.entry (\w+)\((.*)\)$/.exec(line);
    const reg = /^\.reg \.\w+ %([phuslfd])<(\d+)>;$/.exec(line);
    const shared = /^\.shared \.align (?:16|128) \.b8 shared\[(\d+)\];$/.exec(line);
    const threads = /^\.maxntid (\d+), 1, 1$/.exec(line);
    const label = /^(\$L\d+):$/.exec(line);
    if (line === ".extern .shared .align 128 .b8 shared[];") sharedBytes = undefined;
    else if (table !== null) {
      const values = table[4]!.split(", ").map((item) => literal(item));
      if (values.length !== Number(table[3])) throw new Fault(`table of ${values.length} values declared as ${table[3]}`);
      tables.push({ name: table[2]!, type: table[1] as "f32" | "u32", values });
    } else if (head !== null) {
      entry = head[1]!;
      params = head[2]!
        .split(", ")
        .filter(Boolean)
        .map((param) => param.replace(".param .u64 ", ""));
    } else if (reg !== null) for (let i = 0; i < Number(reg[2]); i++) registers.push(`${reg[1]}${i}`);
    else if (shared !== null) sharedBytes = Number(shared[1]);
    else if (threads !== null) maxThreads = Number(threads[1]);
    else if (label !== null) blocks.push({ instructions: [], label: label[1] });
    else {
      const instruction = parseInstruction(line);
      blocks.at(-1)!.instructions.push(instruction);
      if (instruction.name === "bra") blocks.push({ instructions: [], label: undefined });
    }
  }
  return { entry, params, maxThreads, sharedBytes, tables, blocks, registers };
}

function parseInstruction(line: string): Instruction {
  const match = /^(?:@(!?)%(p\d+) )?([\w.:]+)(?: (.*))?;$/.exec(line);
  if (match === null) throw new Fault(`not an instruction: ${line}`);
  const [, negation, register, name, rest] = match;
  return {
    text: line,
    guard: register === undefined ? undefined : { register, negated: negation === "!" },
    name: name!,
    operands: (rest ?? "").split(", ").filter(Boolean),
  };
}

const bits = new DataView(new ArrayBuffer(8));

function literal(text: string): number {
  if (/^0f[0-9A-F]{8}$/.test(text)) {
    bits.setUint32(0, Number.parseInt(text.slice(2), 16));
    return bits.getFloat32(0);
  }
  if (/^0d[0-9A-F]{16}$/.test(text)) {
    bits.setUint32(0, Number.parseInt(text.slice(2, 10), 16));
    bits.setUint32(4, Number.parseInt(text.slice(10), 16));
    return bits.getFloat64(0);
  }
  if (/^-?\d+$/.test(text)) return Number(text);
  throw new Fault(`not a literal: ${text}`);
}

/**
 * A parsed kernel as the source of a JavaScript generator: one thread, which yields 0 at the block's barrier, n > 0 at the n-th place where
 * lanes of a warp meet, and -2 while a barrier for copies is not complete.
 */
export function translate(kernel: ParsedKernel): string {
  checkDefinitions(kernel);
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
      if (name === "bar.sync") return "yield 0; m.thread = tid;";
      if (name === "shfl.sync.bfly.b32") {
        const [to, value, mask, clamp, members] = operands;
        if (clamp !== "31" || members !== "0xFFFFFFFF") throw new Fault(`unknown shuffle: ${text}`);
        return `lanes[tid] = ${operand(value!)}; yield ${++meetings}; m.thread = tid; ${target(to!)} = held[tid ^ ${mask}];`;
      }
      if (name === "bar.warp.sync") {
        if (operands[0] !== "0xFFFFFFFF") throw new Fault(`a barrier of a part of a warp: ${text}`);
        return `yield ${++meetings}; m.thread = tid; m.passWarpBarrier();`;
      }
      if (name.startsWith("mma.")) return matrixProduct(instruction, ++meetings);
      if (/^(mbarrier|fence|cp)\./.test(name)) return asynchronous(instruction);
      if (name === "griddepcontrol.launch_dependents") return "";
      if (name === "griddepcontrol.wait") return "m.waitForEarlier();";
      return statement(instruction, kernel);
    });
    return `case ${i}:\n${lines.join("\n")}`;
  });
  return `"use strict";
const { $f16, $toF16, $toBf16, $even, $float, $uint, $clampS32, $clampU32, $logic3, $pickBytes, $multiply } = helpers;
return function* (m, params, tables, tid, ctaid, lanes, held) {
  let ${kernel.registers.map((register) => `${register} = 0`).join(", ")};
  let b = 0;
  for (;;) switch (b) {
${cases.join("\n")}
    throw new Error("ran off the end");
  }
};`;
}

function target(text: string): string {
  if (!/^%[phuslfd]\d+$/.test(text)) throw new Fault(`not a register: ${text}`);
  return text.slice(1);
}

function operand(text: string): string {
  return text.startsWith("%") ? target(text) : `(${numberText(literal(text))})`;
}

function numberText(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}

const comparisons: Readonly<Record<string, string>> = { eq: "===", ne: "!==", neu: "!==", lt: "<", le: "<=", gt: ">", ge: ">=" };
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
  const access = /^(ld|st)\.(global|shared)\.(\w+)$/.exec(name);
  if (access !== null) {
    const [, kind, space, type] = access;
    const [accessor, bytes] = accessors[type!]!;
    const place = /^\[(%[lu]\d+)\+(\d+)\]$/.exec(operands[kind === "ld" ? 1 : 0]!);
    if (place === null) throw new Fault(`not an address: ${text}`);
    if ((space === "global") !== place[1]!.startsWith("%l")) throw new Fault(`an address of another space: ${text}`);
    const at = `m.${kind === "ld" ? "read" : "write"}("${space}", ${target(place[1]!)} + ${place[2]}, ${bytes})`;
    return kind === "ld"
      ? `{ const [v, at] = ${at}; ${target(operands[0]!)} = v.get${accessor}(at, true); }`
      : `{ const [v, at] = ${at}; v.set${accessor}(at, ${operand(operands[1]!)}, true); }`;
  }
  const vector = /^(ld|st)\.(global|shared)\.v([24])\.(f32|b16|u32)$/.exec(name);
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
        ? `${register} = v.get${accessor}(at + ${i * bytes}, true);`
        : `v.set${accessor}(at + ${i * bytes}, ${register}, true);`,
    );
    const access = `m.${kind === "ld" ? "read" : "write"}("${space}", ${target(place[1]!)} + ${place[2]}, ${Number(count) * bytes})`;
    return `{ const [v, at] = ${access}; ${accesses.join(" ")} }`;
  }
  if (name === "mov.b32" && operands[0]!.startsWith("{")) {
    const [low, high] = listOf(operands[0]!, 2, text);
    return `${low} = ${operand(operands[1]!)} & 65535; ${high} = ${operand(operands[1]!)} >>> 16;`;
  }
  const to = target(operands[0]!);
  if (name === "ld.param.u64") {
    const index = kernel.params.indexOf(operands[1]!.slice(1, -1));
    if (index < 0) throw new Fault(`no such parameter: ${text}`);
    return `${to} = params[${index}];`;
  }
  if (parts[0] === "mov") {
    const source = operands[1]!;
    if (source === "%tid.x") return `${to} = tid;`;
    if (source === "%ctaid.x") return `${to} = ctaid;`;
    if (source === "shared") return `${to} = 0;`;
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

/** The registers of `{a,b,c}`. */
function listOf(text: string, count: number, instruction: string): readonly string[] {
  const registers = /^\{.*\}$/.test(text) ? text.slice(1, -1).split(",").map(target) : [];
  if (registers.length !== count) throw new Fault(`expected ${count} registers: ${instruction}`);
  return registers;
}

/** Every lane hands in its parts of the matrices, and computes its part of the product when all have. */
function matrixProduct({ name, operands, text }: Instruction, meeting: number): string {
  const type = /^mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.(f16|bf16)\.\1\.f32$/.exec(name)?.[1];
  if (type === undefined) throw new Fault(`unknown instruction: ${text}`);
  const [to, a, b, c] = operands.map((list, i) => listOf(list, [4, 4, 2, 4][i]!, text));
  const parts = [...a!, ...b!, ...c!].join(", ");
  return `lanes[tid] = [${parts}]; yield ${meeting}; m.thread = tid; [${to!.join(", ")}] = $multiply("${type}", held, tid);`;
}

/** Barriers in shared memory and the copies that they announce. */
function asynchronous({ name, operands, text }: Instruction): string {
  const address = (item: string | undefined): string => target(item?.slice(1, -1) ?? "");
  switch (name) {
    case "mbarrier.init.shared::cta.b64":
      return `m.initBarrier(${address(operands[0])}, ${operand(operands[1]!)});`;
    case "fence.mbarrier_init.release.cluster":
      return "";
    case "fence.proxy.async":
      return "m.fenceBarriers();";
    case "mbarrier.arrive.expect_tx.shared::cta.b64":
      return `m.expectBytes(${address(operands[1])}, ${operand(operands[2]!)});`;
    case "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes": {
      const [to, from, bytes, barrier] = operands;
      return `m.copyBulk(${address(to)}, ${address(from)}, ${operand(bytes!)}, ${address(barrier)});`;
    }
    case "mbarrier.try_wait.parity.shared::cta.b64": {
      const isDone = target(operands[0]!);
      return `${isDone} = m.tryWait(${address(operands[1])}, ${operand(operands[2]!)}); if (!${isDone}) { yield -2; m.thread = tid; }`;
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

function expression(name: string, parts: readonly string[], a: string, b: string, c: string): string | undefined {
  const type = parts.at(-1)!;
  const wrap = (value: string): string => {
    if (type === "u32") return `((${value}) >>> 0)`;
    if (type === "s32") return `((${value}) | 0)`;
    return type === "f32" ? `Math.fround(${value})` : `(${value})`;
  };
  const isRounded = parts[1] === "rn";
  const isFloat = type === "f32" || type === "f64";
  switch (parts[0]) {
    case "add":
    case "sub":
      return isFloat === isRounded ? wrap(`${a} ${parts[0] === "add" ? "+" : "-"} ${b}`) : undefined;
    case "mul":
      if (parts[1] === "lo") return wrap(`Math.imul(${a}, ${b})`);
      if (name === "mul.hi.u32") return `Number((BigInt(${a}) * BigInt(${b})) >> 32n)`;
      return isRounded ? wrap(`${a} * ${b}`) : undefined;
    case "div":
      return isRounded ? wrap(`${a} / ${b}`) : type === "u32" ? `(${b} === 0 ? 4294967295 : Math.floor(${a} / ${b}))` : undefined;
    case "rem":
      return type === "u32" ? `(${b} === 0 ? ${a} : ${a} % ${b})` : undefined;
    case "fma":
      return isRounded ? wrap(`${a} * ${b} + ${c}`) : undefined;
    case "mad":
      if (name === "mad.lo.u32") return wrap(`Math.imul(${a}, ${b}) + ${c}`);
      return name === "mad.wide.u32" ? `(${a} * ${b} + ${c})` : undefined;
    case "min":
    case "max":
      return isFloat === (parts[1] === "NaN") ? `Math.${parts[0]}(${a}, ${b})` : undefined;
    case "neg":
      return type === "s32" ? `(-${a} | 0)` : `(-${a})`;
    case "abs":
      return `Math.abs(${a})`;
    case "sqrt":
      return name === "sqrt.rn.f32" ? wrap(`Math.sqrt(${a})`) : undefined;
    case "lg2":
      return name === "lg2.approx.f32" ? wrap(`Math.log2(${a})`) : undefined;
    case "and":
    case "or": {
      const sign = parts[0] === "and" ? "&" : "|";
      if (type === "pred") return `(${a} ${sign}${sign} ${b})`;
      return type === "b32" ? `((${a} ${sign} ${b}) >>> 0)` : undefined;
    }
    case "xor":
      return type === "b32" ? `((${a} ^ ${b}) >>> 0)` : undefined;
    case "not":
      return type === "pred" ? `(!${a})` : undefined;
    case "shl":
      return `(${b} > 31 ? 0 : (${a} << ${b}) >>> 0)`;
    case "shr":
      return type === "s32" ? `(${a} >> Math.min(${b}, 31))` : `(${b} > 31 ? 0 : ${a} >>> ${b})`;
    case "selp":
      return `(${c} ? ${a} : ${b})`;
    case "setp":
      if (parts[1] === "nan") return `Number.isNaN(${a})`;
      return comparisons[parts[1]!] === undefined ? undefined : `(${a} ${comparisons[parts[1]!]} ${b})`;
    case "cvta":
      return a;
    case "prmt":
      return name === "prmt.b32" ? `$pickBytes(${a}, ${b}, ${c})` : undefined;
    case "cvt":
      if (name === "cvt.rn.f16x2.f32") return `(($toF16(${a}) << 16 | $toF16(${b})) >>> 0)`;
      if (name === "cvt.rn.bf16x2.f32") return `(($toBf16(${a}) << 16 | $toBf16(${b})) >>> 0)`;
      return conversion(name, a);
    default:
      return undefined;
  }
}

function conversion(name: string, a: string): string | undefined {
  switch (name) {
    case "cvt.rni.f32.f32":
      return `$even(${a})`;
    case "cvt.rmi.f32.f32":
    case "cvt.rmi.f64.f64":
      return `Math.floor(${a})`;
    case "cvt.rpi.f32.f32":
      return `Math.ceil(${a})`;
    case "cvt.rzi.f32.f32":
      return `Math.trunc(${a})`;
    case "cvt.rzi.s32.f32":
      return `$clampS32(Math.trunc(${a}))`;
    case "cvt.rzi.u32.f32":
    case "cvt.rzi.u32.f64":
      return `$clampU32(Math.trunc(${a}))`;
    case "cvt.rn.f32.u32":
    case "cvt.rn.f32.s32":
      return `Math.fround(${a})`;
    case "cvt.rn.f64.u32":
    case "cvt.f64.f32":
    case "cvt.u32.u16":
      return a;
    case "cvt.u16.u32":
      return `(${a} & 65535)`;
    case "cvt.s32.u32":
      return `(${a} | 0)`;
    case "cvt.u32.s32":
      return `(${a} >>> 0)`;
    case "cvt.f32.f16":
      return `$f16(${a})`;
    case "cvt.rn.f16.f32":
      return `$toF16(${a})`;
    default:
      return undefined;
  }
}

/** @throws {Fault} unless every register is assigned on every path to each of its uses */
function checkDefinitions({ blocks }: ParsedKernel): void {
  const places = new Map(blocks.flatMap(({ label }, i) => (label === undefined ? [] : [[label, i] as const])));
  const entering: (Set<string> | undefined)[] = blocks.map(() => undefined);
  entering[0] = new Set();
  const pending = [0];
  const flow = (to: number, defined: ReadonlySet<string>): void => {
    const known = entering[to];
    const merged = known === undefined ? new Set(defined) : new Set([...known].filter((register) => defined.has(register)));
    if (known !== undefined && merged.size === known.size) return;
    entering[to] = merged;
    pending.push(to);
  };
  const walk = (i: number, check: boolean): void => {
    const defined = new Set(entering[i]);
    for (const { name, guard, operands, text } of blocks[i]!.instructions) {
      const isStore = /^(st|mbarrier\.(init|arrive)|fence|cp|bar|griddepcontrol)\./.test(name);
      const sources = (isStore ? operands : operands.slice(1)).flatMap((item) => item.match(/%[phuslfd]\d+/g) ?? []);
      const used = guard === undefined ? sources : [...sources, `%${guard.register}`];
      const missing = used.find((register) => !defined.has(register));
      if (check && missing !== undefined) throw new Fault(`${missing} is used before it is assigned on every path: ${text}`);
      if (name === "bra") {
        if (!check) flow(places.get(operands[0]!)!, defined);
        if (guard === undefined) return;
      } else if (name === "ret") return;
      else if (!isStore) for (const [register] of (operands[0] ?? "").matchAll(/%[phuslfd]\d+/g)) defined.add(register);
    }
    if (!check && i + 1 < blocks.length) flow(i + 1, defined);
  };
  while (pending.length > 0) walk(pending.pop()!, false);
  blocks.forEach((_, i) => {
    if (entering[i] !== undefined) walk(i, true);
  });
}
