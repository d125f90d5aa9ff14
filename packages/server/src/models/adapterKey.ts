import type { AdapterScales } from "@centella/llm";

/** Texts of different keys share no computed tokens. */
export function adaptersKey(adapters: AdapterScales = {}): string {
  const applied = Object.entries(adapters).filter(([, scale]) => scale !== 0);
  return applied.length === 0 ? "" : JSON.stringify(applied.sort(([a], [b]) => (a < b ? -1 : 1)));
}
