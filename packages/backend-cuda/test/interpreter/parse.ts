import { Fault } from "./memory.ts";

/** One instruction: `@[!]guard name operands`. */
export interface Instruction {
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
  /** Parameters that are tensor maps, after the others. */
  readonly maps: readonly string[];
  readonly maxThreads: number;
  /** Blocks of a cluster along each axis. */
  readonly cluster: readonly [number, number, number];
  /** Undefined where a launch says how much it is. */
  readonly sharedBytes: number | undefined;
  readonly tables: readonly {
    readonly name: string;
    readonly type: "f32" | "u32";
    readonly values: readonly number[];
    readonly isWritten?: true;
  }[];
  /** Whether it has atomic accesses or fences that show other blocks what it has written. */
  readonly releases: boolean;
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
  let maps: string[] = [];
  let maxThreads = 0;
  let cluster: ParsedKernel["cluster"] = [1, 1, 1];
  let sharedBytes: number | undefined = 0;
  for (const raw of ptx.split("\n")) {
    const line = raw.trim();
    if (
      line === "" ||
      line === "{" ||
      line === "}" ||
      /^\.(version 8\.0|target sm_(80|90|90a)|address_size 64|minnctapersm [128]|explicitcluster)$/.test(line)
    )
      continue;
    const table = /^\.global \.align 8 \.(f32|u32) (\w+)\[(\d+)\] = \{(.*)\};$/.exec(line);
    const counters = /^\.global \.align 8 \.u32 (counters)\[(\d+)\];$/.exec(line);
    const head = /^\.visible \.entry (\w+)\((.*)\)$/.exec(line);
    const reg = /^\.reg \.\w+ %([phuslfd])<(\d+)>;$/.exec(line);
    const shared = /^\.shared \.align (?:16|128|1024) \.b8 shared\[(\d+)\];$/.exec(line);
    const threads = /^\.maxntid (\d+), 1, 1$/.exec(line);
    const clusterSize = /^\.reqnctapercluster (\d+), (\d+), (\d+)$/.exec(line);
    const label = /^(\$L\d+):$/.exec(line);
    if (/^\.extern \.shared \.align (16|128|1024) \.b8 shared\[\];$/.test(line)) sharedBytes = undefined;
    else if (table !== null) {
      const values = table[4]!.split(", ").map((item) => literal(item));
      if (values.length !== Number(table[3])) throw new Fault(`table of ${values.length} values declared as ${table[3]}`);
      tables.push({ name: table[2]!, type: table[1] as "f32" | "u32", values });
    } else if (counters !== null) {
      tables.push({ name: counters[1]!, type: "u32", values: new Array<number>(Number(counters[2])).fill(0), isWritten: true });
    } else if (head !== null) {
      entry = head[1]!;
      const all = head[2]!.split(", ").filter(Boolean);
      maps = all.flatMap((param) => /^\.param \.align 64 \.b8 (\w+)\[128\]$/.exec(param)?.[1] ?? []);
      params = all.slice(0, all.length - maps.length).map((param) => param.replace(".param .u64 ", ""));
    } else if (reg !== null) for (let i = 0; i < Number(reg[2]); i++) registers.push(`${reg[1]}${i}`);
    else if (shared !== null) sharedBytes = Number(shared[1]);
    else if (threads !== null) maxThreads = Number(threads[1]);
    else if (clusterSize !== null) cluster = [Number(clusterSize[1]), Number(clusterSize[2]), Number(clusterSize[3])];
    else if (label !== null) blocks.push({ instructions: [], label: label[1] });
    else {
      const instruction = parseInstruction(line);
      blocks.at(-1)!.instructions.push(instruction);
      if (instruction.name === "bra") blocks.push({ instructions: [], label: undefined });
    }
  }
  const releases = blocks.some(({ instructions }) => instructions.some(({ name }) => releaseName.test(name)));
  return { releases, entry, params, maps, maxThreads, cluster, sharedBytes, tables, blocks, registers };
}

/** Names of accesses and fences that release or acquire for the device. */
const releaseName = /^((atom|red)\.(acquire|release|acq_rel)\.(gpu|sys)\.global|fence\.(acq_rel|sc)\.(gpu|sys)$)/;

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

/** The variable of a register. */
export function target(text: string): string {
  if (!/^%[phuslfd]\d+$/.test(text)) throw new Fault(`not a register: ${text}`);
  return text.slice(1);
}

/** An operand as JavaScript. */
export function operand(text: string): string {
  return text.startsWith("%") ? target(text) : `(${numberText(literal(text))})`;
}

function numberText(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}

/** The registers of `{a,b,c}`. */
export function listOf(text: string, count: number, instruction: string): readonly string[] {
  const registers = /^\{.*\}$/.test(text) ? text.slice(1, -1).split(",").map(target) : [];
  if (registers.length !== count) throw new Fault(`expected ${count} registers: ${instruction}`);
  return registers;
}

/** The registers that a text names. */
export function registersOf(text: string): readonly string[] {
  return (text.match(/%[phuslfd]\d+/g) ?? []).map(target);
}

/** The names of products of a warpgroup: their columns, and the type of the operands. */
export const productName = /^wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k16\.f32\.(f16|bf16)\.\2$/;
