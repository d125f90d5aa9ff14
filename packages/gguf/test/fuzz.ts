import { readFileSync } from "node:fs";
import { join } from "node:path";
import { contentOf, GgufError, type GgufFile, readGguf, writeGguf } from "../src/index.ts";
import { randomFrom } from "./faultyHub.ts";
import { everything, writeGguf as writeIndependently } from "./writer.ts";

const fixture = (name: string): Uint8Array => new Uint8Array(readFileSync(join(import.meta.dirname, "fixtures", name)));

/** Files whose bytes are mutated: every value type, both byte orders, block types, a part of a split file. */
const corpus: readonly Uint8Array[] = [
  writeIndependently(everything),
  writeIndependently({ ...everything, version: 2 }),
  fixture("little.gguf"),
  fixture("big.gguf"),
  fixture("blocks.gguf"),
  fixture("blocks-big.gguf"),
  fixture("split-00001-of-00003.gguf"),
];

const interesting = [0, 1, 2, 4, 8, 9, 12, 0x7f, 0x80, 0xfe, 0xff];

export interface FuzzCounts {
  /** Inputs that were read, written again and read again. */
  read: number;
  /** Inputs that were refused, by the error's code. */
  readonly refused: Record<string, number>;
}

/**
 * Reads mutated files (and some bytes that are no file at all). Each is either refused with a `GgufError`, or can be read in full, written,
 * and read again to the same tensors; written once more it is byte-equal.
 * @throws {Error} naming the round for anything else
 */
export async function fuzz(seed: number, rounds: number, counts: FuzzCounts): Promise<void> {
  const random = randomFrom(seed);
  const below = (n: number): number => Math.floor(random() * n);
  for (let round = 0; round < rounds; round++) {
    const input = below(50) === 0 ? noise(below) : mutated(corpus[below(corpus.length)]!, below);
    try {
      await roundTrip(await readGguf(input));
      counts.read++;
    } catch (error) {
      if (!(error instanceof GgufError)) throw new Error(`seed ${seed}, round ${round}: ${String(error)}`, { cause: error });
      counts.refused[error.code] = (counts.refused[error.code] ?? 0) + 1;
    }
  }
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
