import { webgpu } from "@centella/backend-webgpu";
import { type BackendFactory, UnsupportedError } from "@centella/core";
import { isRequired } from "@centella/test-devices";
import { CudaBackend } from "../../backend-cuda/src/backend.ts";
import { InterpretedDriver } from "../../backend-cuda/test/interpreter/interpretedDriver.ts";
import { softwareGpu } from "../../backend-webgpu/test/support/openBackend.ts";

/** WebGPU, on SwiftShader where there is no GPU. */
export const software: BackendFactory = {
  name: "webgpu",
  async open() {
    return webgpu({ gpu: await softwareGpu() }).open();
  },
};

/** CUDA's kernels on the interpreter of PTX. */
export const interpreted: BackendFactory = { name: "cuda", open: async () => new CudaBackend(new InterpretedDriver()) };

/** Whether a backend opens on this machine. @throws where it does not, but `REQUIRE_BACKENDS` names it */
export async function opens(factory: BackendFactory): Promise<boolean> {
  try {
    const backend = await factory.open();
    await backend.dispose();
    return true;
  } catch (error) {
    if (!(error instanceof UnsupportedError) || isRequired(factory.name)) throw error;
    return false;
  }
}
