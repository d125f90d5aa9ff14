import { wasm } from "@centella/backend-wasm";
import type { BackendFactory } from "@centella/core";
import { gpuKind } from "./gpu.ts";

/** The backends that an engine may have, or "auto" for all that this browser offers. */
export type BackendChoice = "auto" | "webgpu" | "wasm";

/** The backends of an engine. The code for WebGPU is downloaded only where it may be chosen. */
export async function backendsNamed(choice: string): Promise<readonly BackendFactory[]> {
  const cpu = wasm({ sync: false });
  if (choice === "wasm" || (choice === "auto" && (await gpuKind()) !== "real")) return [cpu];
  const { webgpu } = await import("@centella/backend-webgpu");
  return choice === "webgpu" ? [webgpu()] : [webgpu(), cpu];
}
