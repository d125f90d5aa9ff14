import type { MetadataReader } from "../../../load/metadataReader.ts";

/** Sliding windows: `attention.sliding_window` and `attention.sliding_window_pattern`. */
export interface SlidingWindow {
  /** Tokens that layers with a window see; 0 if no layer has a window. */
  readonly tokens: number;
  /** Tokens that a layer sees; 0 for all. */
  at(layer: number): number;
  /** The same of a block after the layers, which has a window only where the file lists one for it. */
  listedAt(block: number): number;
}

export interface WindowOptions {
  /** Every n-th layer has no window, unless the file says otherwise; 0: all layers have one. */
  readonly period: number;
  /** Tokens if the file names none; without it such files have no windows. */
  readonly fallback?: number;
  /** Tokens, regardless of what the file names. */
  readonly tokens?: number;
  /** Whether the layers without a window are the first of each period, not the last. */
  readonly isFirst?: boolean;
}

export function readWindow(file: MetadataReader, { period, fallback = 0, isFirst = false, ...options }: WindowOptions): SlidingWindow {
  const tokens = options.tokens ?? file.tokens("attention.sliding_window") ?? fallback;
  const listed = file.flags("attention.sliding_window_pattern");
  const listedAt = (layer: number): number => (typeof listed === "object" && listed[layer] === true ? tokens : 0);
  if (typeof listed === "object") return { tokens, at: listedAt, listedAt };
  const each = listed ?? period;
  const has = (layer: number): boolean => each === 0 || layer % each !== (isFirst ? 0 : each - 1);
  return { tokens, at: (layer) => (has(layer) ? tokens : 0), listedAt };
}
