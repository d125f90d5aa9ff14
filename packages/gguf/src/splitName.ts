import { check, checkOptions, string, tupleOf, whole } from "@centella/quant/checks";
/** Parts of the file name of a split file: `PREFIX-00002-of-00005.gguf` has `number` 2 and `count` 5. */
export interface SplitName {
  readonly prefix: string;
  /** From 1. */
  readonly number: number;
  readonly count: number;
}

/** File name of part `number` (from 1) of `count`. Source: `llama_split_path` of llama.cpp. */
export function splitName(name: SplitName): string {
  const { prefix, number, count } = checkOptions("splitName", name, { prefix: string, number: whole(1), count: whole(1) });
  check("splitName", "prefix", prefix, string);
  return `${prefix}-${String(number).padStart(5, "0")}-of-${String(count).padStart(5, "0")}.gguf`;
}

/** Parses such a name, which may follow a path or URL. Returns undefined for other names. */
export function parseSplitName(name: string): SplitName | undefined {
  check("parseSplitName", "name", name, string);
  const match = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/s.exec(name);
  if (match === null) return undefined;
  const [, prefix, number, count] = tupleOf(match, 4);
  const parsed = { prefix, number: Number(number), count: Number(count) };
  return parsed.number >= 1 && parsed.number <= parsed.count ? parsed : undefined;
}

/** Metadata keys of a part: its number from 0, how many parts there are, and how many tensors in all of them. */
export const splitKeys = { no: "split.no", count: "split.count", tensors: "split.tensors.count" } as const;
