import { readFileSync } from "node:fs";
import { join } from "node:path";
import { contentOf, GgufError, type GgufFile, readGguf, writeGguf } from "../src/index.ts";
import { randomFrom } from "./faultyHub.ts";
import { everything, type FileToWrite, writeGguf as writeIndependently } from "./writer.ts";

const fixture = (name: string): Uint8Array => new Uint8Array(readFileSync(join(import.meta.dirname, "fixtures", name)));

/** A few keys of a model, so that most mutations hit what is in front of the tensors. */
const model: FileToWrite = {
  metadata: [
    ["general.architecture", "string", "llama"],
    ["llama.block_count", "u32", 2],
    ["tokenizer.ggml.tokens", "array", { of: "string", values: ["<s>", "a", "ñ"] }],
    ["tokenizer.ggml.scores", "array", { of: "f32", values: [0, -1, -2] }],
    ["general.alignment", "u32", 32],
  ],
  tensors: [
    { name: "token_embd.weight", type: "q4_0", shape: [3, 32] },
    { name: "output_norm.weight", type: "f32", shape: [4] },
  ],
};

/** Files whose bytes are mutated: every value type, both byte orders, block types, a part of a split file. */
const corpus: readonly Uint8Array[] = [
  writeIndependently(everything),
  writeIndependently({ ...everything, version: 2 }),
  writeIndependently(model),
  fixture("little.gguf"),
  fixture("big.gguf"),
  fixture("blocks.gguf"),
  fixture("blocks-big.gguf"),
  fixture("split-00001-of-00003.gguf"),
];

const interesting = [0, 1, 2, 4, 8, 9, 12, 0x7f, 0x80, 0xfe, 0xff];

/** An input that takes longer on a core counts as a hang; the slowest take a few milliseconds. */
const hangMs = 2_000;

/** Milliseconds that this process has computed. Pauses do not count. */
function computedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

export interface FuzzCounts {
  /** Inputs that were read, written again and read again. */
  read: number;
  /** Inputs that were refused, by the error's code. */
  readonly refused: Record<string, number>;
  /** The longest that one input took on a core, in milliseconds. */
  slowestMs: number;
  /** The most bytes of typed arrays that were made while one input was read, where `allocated` tells them. */
  mostBytes: number;
}

export function noCounts(): FuzzCounts {
  return { read: 0, refused: {}, slowestMs: 0, mostBytes: 0 };
}

/**
 * Reads mutated files (and some bytes that are no file at all). Each is either refused with a `GgufError`, or can be read in full, written,
 * and read again to the same tensors; written once more it is byte-equal. `allocated` gives the bytes of typed arrays made so far:
 * reading may add twice the input and 16 MiB.
 * @throws {Error} naming the round for anything else
 */
export async function fuzz(seed: number, rounds: number, counts: FuzzCounts, allocated: () => number = () => 0): Promise<void> {
  const random = randomFrom(seed);
  const below = (n: number): number => Math.floor(random() * n);
  for (let round = 0; round < rounds; round++) {
    const input = below(50) === 0 ? noise(below) : mutated(corpus[below(corpus.length)]!, below);
    const where = `seed ${seed}, round ${round}`;
    const [startedAt, bytesBefore] = [computedMs(), allocated()];
    try {
      const file = await readGguf(input);
      decodeAll(file);
      checkAllocation(input, allocated() - bytesBefore, counts, where);
      await roundTrip(file);
      counts.read++;
    } catch (error) {
      if (!(error instanceof GgufError)) throw new Error(`${where}: ${String(error)}`, { cause: error });
      checkAllocation(input, allocated() - bytesBefore, counts, where);
      counts.refused[error.code] = (counts.refused[error.code] ?? 0) + 1;
    }
    const ms = computedMs() - startedAt;
    if (ms > hangMs) throw new Error(`${where}: took ${ms.toFixed(0)} ms`);
    counts.slowestMs = Math.max(counts.slowestMs, ms);
  }
}

/** Values stay bytes until they are asked for. */
function decodeAll({ metadata }: GgufFile): void {
  for (const { key, value } of metadata) if (metadata.get(key) === undefined || value === undefined) throw new Error(`'${key}' is lost`);
}

function checkAllocation(input: Uint8Array, bytes: number, counts: FuzzCounts, where: string): void {
  counts.mostBytes = Math.max(counts.mostBytes, bytes);
  if (bytes > 2 * input.length + 2 ** 24) throw new Error(`${where}: ${bytes} bytes for an input of ${input.length}`);
}

function noise(below: (n: number) => number): Uint8Array {
  const bytes = Uint8Array.from({ length: below(300) }, () => below(256));
  if (below(2) === 0) bytes.set(new TextEncoder().encode("GGUF\u0003\0\0\0").subarray(0, bytes.length));
  return bytes;
}

function mutated(original: Uint8Array, below: (n: number) => number): Uint8Array {
  const bytes = original.slice();
  for (let k = below(4); k >= 0; k--) {
    const at = below(bytes.length);
    const value = below(2) === 0 ? below(256) : interesting[below(interesting.length)]!;
    bytes.fill(value, at, at + (below(8) === 0 ? 1 + below(8) : 1));
  }
  return below(8) === 0 ? bytes.subarray(0, below(bytes.length)) : bytes;
}

async function roundTrip(file: GgufFile): Promise<void> {
  const first = await written(file);
  const again = await readGguf(first);
  if (again.byteOrder !== file.byteOrder || again.metadata.size !== file.metadata.size) throw new Error("the metadata changed");
  for (const tensor of file.tensors) {
    const copy = again.tensor(tensor.name);
    if (copy.type !== tensor.type || copy.shape.join() !== tensor.shape.join()) throw new Error(`tensor '${tensor.name}' changed`);
    if (!Buffer.from(await file.readTensor(tensor)).equals(await again.readTensor(copy)))
      throw new Error(`data of '${tensor.name}' changed`);
  }
  if (!first.equals(await written(again))) throw new Error("written twice differs");
}

async function written(file: GgufFile): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  await writeGguf({ write: async (bytes) => void pieces.push(Uint8Array.from(bytes)) }, contentOf(file));
  return Buffer.concat(pieces);
}
