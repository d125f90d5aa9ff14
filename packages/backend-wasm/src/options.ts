import { ArgumentError } from "@centella/core";

export interface WasmOptions {
  /**
   * Relaxed SIMD: fused multiply-add and 8-bit dot products, where the engine has them ("auto", the default). Results then
   * depend on whether the machine fuses; `false` gives the same bits on every machine.
   */
  readonly relaxed?: boolean | "auto";
  /** Largest memory in MiB, up to 4096 (the default). */
  readonly maxMemoryMiB?: number;
}

/** @throws {ArgumentError} for an unknown option or a value outside its range */
export function checkOptions(options: WasmOptions): Required<WasmOptions> {
  const unknown = Object.keys(options).find((key) => key !== "relaxed" && key !== "maxMemoryMiB");
  if (unknown !== undefined) throw new ArgumentError("wasm", "options among {relaxed, maxMemoryMiB}", unknown, "check the spelling");
  const { relaxed = "auto", maxMemoryMiB = 4096 } = options;
  if (relaxed !== "auto" && typeof relaxed !== "boolean") throw new ArgumentError("wasm", 'relaxed true, false or "auto"', String(relaxed));
  if (typeof maxMemoryMiB !== "number" || !(maxMemoryMiB >= 1 && maxMemoryMiB <= 4096)) {
    throw new ArgumentError("wasm", "maxMemoryMiB from 1 to 4096", String(maxMemoryMiB));
  }
  return { relaxed, maxMemoryMiB };
}
