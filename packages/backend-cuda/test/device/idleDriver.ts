import type { CudaDriver, DeviceProperties, Handle, Mark } from "../../src/device/driver.ts";

/** A driver of an H200 on which all work is over at once, and every result is zeros. */
export class IdleDriver implements CudaDriver {
  readonly device: DeviceProperties = {
    name: "idle",
    computeCapability: [9, 0],
    multiprocessors: 132,
    totalBytes: 2 ** 37,
    driverVersion: 13_000,
  };
  /** Launches of the graph that was launched last. */
  launchesOfLastGraph = 0;
  readonly #launches = new Map<Handle, number>();
  #captured = 0;
  #handles = 2n ** 32n;

  alloc(bytes: number): Handle {
    const address = this.#handles;
    this.#handles += BigInt(256 * Math.ceil(bytes / 256));
    return address;
  }

  memoryInfo(): { readonly free: number; readonly total: number } {
    return { free: this.device.totalBytes, total: this.device.totalBytes };
  }

  allocPinned(): Handle {
    return this.#handles++;
  }

  viewPinned(_memory: Handle, bytes: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(bytes);
  }

  beginCapture(): void {
    this.#captured = 0;
  }

  launch(): void {
    this.#captured++;
  }

  endCapture(): Handle {
    const graph = this.#handles++;
    this.#launches.set(graph, this.#captured);
    return graph;
  }

  launchGraph(graph: Handle): void {
    this.launchesOfLastGraph = this.#launches.get(graph)!;
  }

  freeGraph(graph: Handle): void {
    this.#launches.delete(graph);
  }

  createTimer(): Handle {
    return this.#handles++;
  }

  elapsedTime(): number {
    return 0;
  }

  async compile(): Promise<Uint8Array> {
    return this.compileSync();
  }

  compileSync(): Uint8Array {
    return new Uint8Array();
  }

  async loadModule(): Promise<Handle> {
    return this.loadModuleSync();
  }

  loadModuleSync(): Handle {
    return this.#handles++;
  }

  kernel(): Handle {
    return this.#handles++;
  }

  mark(): Mark {
    return 0n;
  }

  finished(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  free(): void {}
  freePinned(): void {}
  writePinned(): void {}
  readPinned(): void {}
  copyToDevice(): void {}
  copyFromDevice(): void {}
  copyOnDevice(): void {}
  zero(): void {}
  abandonCapture(): void {}
  freeTimer(): void {}
  recordTimer(): void {}
  unloadModule(): void {}
  finishedSync(): void {}
  close(): void {}
}
