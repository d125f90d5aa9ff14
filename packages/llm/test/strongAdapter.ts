import { readGguf, writeGguf } from "@centella/gguf";

/** The file of a LoRA adapter for the Llama model at `path` that changes its texts: it adapts one product of the first layer. */
export async function strongAdapter(path: string): Promise<Uint8Array<ArrayBuffer>> {
  const name = "blk.0.ffn_down.weight";
  await using file = await readGguf(path);
  const [rows, columns] = file.tensors.find((tensor) => tensor.name === name)!.shape as [number, number];
  const tensor = (suffix: string, shape: readonly number[], values: Float32Array) => ({
    name: name + suffix,
    type: "f32" as const,
    shape,
    data: new Uint8Array(values.buffer),
  });
  const ramp = (count: number): Float32Array => Float32Array.from({ length: count }, (_, i) => (((i * 7919) % 31) - 15) / 15);
  const pieces: Uint8Array[] = [];
  const metadata = [
    { key: "general.architecture", type: "string" as const, value: "llama" },
    { key: "general.type", type: "string" as const, value: "adapter" },
    { key: "adapter.type", type: "string" as const, value: "lora" },
    { key: "adapter.lora.alpha", type: "f32" as const, value: 4 },
  ];
  const tensors = [tensor(".lora_a", [2, columns], ramp(2 * columns)), tensor(".lora_b", [rows, 2], ramp(2 * rows))];
  await writeGguf({ write: async (bytes) => void pieces.push(Uint8Array.from(bytes)) }, { metadata, tensors });
  return Uint8Array.from(Buffer.concat(pieces));
}
