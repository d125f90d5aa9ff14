import type { UnitFormat } from "./unitFormat.ts";

/** Returns the text of a kernel that a load launches, by format and by a size of the weight. */
export type KernelText = (format: UnitFormat, size: number) => string;

/** Writes each text once: a load needs one for each chunk of each weight. */
export function textPerSize(write: KernelText): KernelText {
  const texts = new WeakMap<UnitFormat, Map<number, string>>();
  return (format, size) => {
    const bySize = texts.get(format) ?? new Map<number, string>();
    texts.set(format, bySize);
    const text = bySize.get(size) ?? write(format, size);
    bySize.set(size, text);
    return text;
  };
}
