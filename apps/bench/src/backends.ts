import { cuda } from "@centella/backend-cuda";
import { wasm } from "@centella/backend-wasm";
import { type WebgpuOptions, webgpu } from "@centella/backend-webgpu";
import { type BackendFactory, reference } from "@centella/core";

/** A backend of this project as the bench runs it. */
export interface BenchedBackend {
  readonly factory: BackendFactory;
  readonly kind: "cpu" | "gpu";
  /** Threads that it computes with; undefined on a GPU. */
  readonly threads: number | undefined;
  /** Measured only when it is asked for by name: slow by design. */
  readonly isOptional?: boolean;
}

/** Every backend; CPU backends with threads use `threads` of them, and WebGPU the `experimental` features of its devices. */
export function backendsWith(threads: number, experimental: WebgpuOptions["experimental"] = []): readonly BenchedBackend[] {
  return [
    { factory: wasm({ threads }), kind: "cpu", threads },
    { factory: reference(), kind: "cpu", threads: 1, isOptional: true },
    { factory: webgpu({ experimental }), kind: "gpu", threads: undefined },
    { factory: cuda(), kind: "gpu", threads: undefined },
  ];
}
