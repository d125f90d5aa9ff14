import type { MetadataReader } from "../../load/metadataReader.ts";

/** Sliding windows: `attention.sliding_window` and `attention.sliding_window_pattern`. */
export interface SlidingWindow {
  /** Tokens that layers with a window see; 0 if no layer has a window. */
  readonly tokens: number;
  /** Tokens that a layer sees; 0 for all. */
  at(layer: number): number;
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
  const has = tokens === 0 ? () => false : readPattern(file, period, isFirst);
  return { tokens, at: (layer) => (has(layer) ? tokens : 0) };
}

/** Which layers have a window: as listed by the file, or all but each n-th. */
function readPattern(file: MetadataReader, fallback: number, isFirst: boolean): (layer: number) => boolean {
  const listed = file.flags("attention.sliding_window_pattern");
  if (typeof listed === "object") return (layer) => listed[layer] === true;
  const period = listed ?? fallback;
  return period === 0 ? () => true : (layer) => layer % period !== (isFirst ? 0 : period - 1);
}
