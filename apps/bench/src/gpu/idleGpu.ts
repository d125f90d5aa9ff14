import { createRequire } from "node:module";
import type { WebgpuOptions } from "@centella/backend-webgpu";
import { Skip } from "../runner/subject.ts";

export type Gpu = NonNullable<WebgpuOptions["gpu"]>;

let opened: Gpu | undefined;

/**
 * Dawn without a GPU: it checks and encodes all work, and then drops it. Results are whatever was in memory.
 * @throws {Skip} where the package `webgpu` is not installed
 */
export function idleGpu(): Gpu {
  opened ??= loadDawn().create(["backend=null", "enable-dawn-features=allow_unsafe_apis"]);
  return opened;
}

/** Dawn, and the constants that browsers have as globals. @throws {Skip} where the package `webgpu` is not installed */
export function loadDawn(): {
  create(options: readonly string[]): Gpu;
  readonly globals: {
    readonly GPUBufferUsage: Readonly<Record<"STORAGE" | "COPY_SRC" | "COPY_DST" | "MAP_READ", number>>;
    readonly GPUMapMode: Readonly<Record<"READ", number>>;
  };
} {
  try {
    return createRequire(import.meta.resolve("@centella/backend-webgpu"))("webgpu");
  } catch {
    throw new Skip("the package webgpu is not installed");
  }
}
