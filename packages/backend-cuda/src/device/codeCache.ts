import { createHash } from "node:crypto";
import type { KernelCache } from "@centella/core/kernelCache";
import type { DeviceProperties } from "./driver.ts";

/** Machine code of kernels that is kept between processes: by the kernel's text, the kind of device and the driver. */
export class CodeCache {
  readonly #cache: KernelCache;
  readonly #target: string;

  constructor(cache: KernelCache, { computeCapability, driverVersion }: DeviceProperties) {
    this.#cache = cache;
    this.#target = `${computeCapability.join(".")} ${driverVersion}`;
  }

  /** The code of a kernel's text, if it was kept. */
  async read(ptx: string): Promise<Uint8Array | undefined> {
    return this.#cache.read(this.#keyOf(ptx));
  }

  /** The same within the call. */
  readSync(ptx: string): Uint8Array | undefined {
    return this.#cache.readSync(this.#keyOf(ptx));
  }

  /** Keeps code for later processes, in the background. */
  write(ptx: string, code: Uint8Array): void {
    this.#cache.write(this.#keyOf(ptx), () => code.slice());
  }

  /** Resolves when everything is written. */
  async settled(): Promise<void> {
    await this.#cache.settled();
  }

  #keyOf(ptx: string): string {
    return createHash("sha256").update(`${this.#target}\n${ptx}`).digest("hex");
  }
}
