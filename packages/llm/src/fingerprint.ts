import type { GgufFile } from "@centella/gguf";
import { crc32 } from "./snapshot.ts";

const sampledTensors = 16;
const sampleBytes = 256;

/**
 * Tells models apart, fine-tunes of one another included: a digest of the tensors' names, types and shapes, and of the beginnings of
 * some of them; adapters count. Not meant to withstand intent.
 */
export async function fingerprint(files: readonly GgufFile[]): Promise<string> {
  return (await Promise.all(files.map(fingerprintFile))).join("+");
}

async function fingerprintFile(file: GgufFile): Promise<string> {
  const { tensors, metadata } = file;
  const table = tensors.map(({ name, type, shape }) => `${name} ${type} ${shape.join("x")}`).join("\n");
  const step = Math.max(1, Math.floor(tensors.length / sampledTensors));
  const samples: Uint8Array[] = [];
  for (let i = 0; i < tensors.length; i += step) {
    samples.push(await file.readTensor(tensors[i]!, { offset: 0, length: Math.min(sampleBytes, tensors[i]!.bytes) }));
  }
  const all = new Uint8Array(samples.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const sample of samples) {
    all.set(sample, at);
    at += sample.length;
  }
  const hex = (bytes: Uint8Array): string => crc32(bytes).toString(16).padStart(8, "0");
  return `${metadata.string("general.architecture")}-${hex(new TextEncoder().encode(table))}${hex(all)}`;
}
