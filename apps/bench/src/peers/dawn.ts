import { loadPeer } from "./load.ts";

/**
 * Gives this process the globals of a page with WebGPU, by the package `webgpu`, until the result is disposed. What still computes then keeps
 * its device. @throws {Skip} if the package is not installed
 */
export async function provideGpu(): Promise<Disposable> {
  const { create, globals } = (await loadPeer("webgpu")) as { create(flags: readonly string[]): GPU; globals: object };
  Object.assign(globalThis, globals);
  Object.defineProperty(globalThis.navigator, "gpu", { value: create([]), configurable: true });
  return { [Symbol.dispose]: () => void Reflect.deleteProperty(globalThis.navigator, "gpu") };
}
