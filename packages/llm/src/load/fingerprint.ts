import type { GgufFile } from "@centella/gguf";
import { crc32 } from "../cache/snapshot.ts";
import type { ModelSamples } from "./modelSamples.ts";

/**
 * Identifies a model with its adapters, also among fine-tunes of the same model: a digest of the tensors' names, types and shapes, and of
 * the first bytes of some tensors. It is not meant to detect forgery.
 */
export function fingerprint(files: readonly GgufFile[], samples: ModelSamples): string {
  return files.map((file) => fingerprintFile(file, samples.of(file))).join("+");
}

function fingerprintFile({ tensors, metadata }: GgufFile, samples: readonly Uint8Array[]): string {
  const table = tensors.map(({ name, type, shape }) => `${name} ${type} ${shape.join("x")}`).join("\n");
  const all = new Uint8Array(samples.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const sample of samples) {
    all.set(sample, at);
    at += sample.length;
  }
  const hex = (bytes: Uint8Array): string => crc32(bytes).toString(16).padStart(8, "0");
  return `${metadata.string("general.architecture")}-${hex(new TextEncoder().encode(table))}${hex(all)}`;
}
