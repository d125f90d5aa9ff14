import type { TensorSource } from "@centella/core";
import type { GgufFile, TensorInfo } from "@centella/gguf";
import type { Weight } from "./weights.ts";

const sampledTensors = 16;
const sampleBytes = 256;

/** The beginning of a tensor. */
interface Sample {
  readonly file: GgufFile;
  readonly bytes: Uint8Array;
  /** Bytes that have been read. */
  filled: number;
}

/**
 * The first bytes of some tensors of each file, for the model's `fingerprint`. They are collected while the weights are loaded, because the
 * source may be slow or gone when the fingerprint is needed.
 */
export class ModelSamples {
  readonly #samples = new Map<TensorInfo, Sample>();

  constructor(files: readonly GgufFile[]) {
    for (const file of files) {
      const step = Math.max(1, Math.floor(file.tensors.length / sampledTensors));
      for (const tensor of file.tensors.filter((_, i) => i % step === 0)) {
        this.#samples.set(tensor, { file, bytes: new Uint8Array(Math.min(sampleBytes, tensor.bytes)), filled: 0 });
      }
    }
  }

  /** The samples of one file, in the order of its tensors. */
  of(file: GgufFile): readonly Uint8Array[] {
    return [...this.#samples.values()].filter((sample) => sample.file === file).map(({ bytes }) => bytes);
  }

  /** Wraps a weight's source and records the bytes that it returns. */
  watch({ source, stored }: Weight): TensorSource {
    const sample = stored && this.#samples.get(stored.tensor);
    if (stored === undefined || sample === undefined) return source;
    const keep = (bytes: Uint8Array, at: number): void => {
      if (at > sample.filled || at >= sample.bytes.length) return;
      const part = bytes.subarray(0, sample.bytes.length - at);
      sample.bytes.set(part, at);
      sample.filled = Math.max(sample.filled, at + part.length);
    };
    return {
      size: source.size,
      async read(offset, length, signal) {
        const bytes = await source.read(offset, length, signal);
        keep(bytes, stored.from + offset);
        return bytes;
      },
      ...(source.readInto && {
        async readInto(target: Uint8Array, offset: number, signal?: AbortSignal) {
          await source.readInto?.(target, offset, signal);
          keep(target, stored.from + offset);
        },
      }),
    };
  }

  /** Reads the samples that loading did not collect, because the model does not use a tensor or decodes it while reading. */
  async complete(signal: AbortSignal | undefined): Promise<void> {
    for (const [tensor, { file, bytes, filled }] of this.#samples) {
      if (filled < bytes.length) bytes.set(await file.readTensor(tensor, { offset: 0, length: bytes.length, ...(signal && { signal }) }));
    }
  }
}
