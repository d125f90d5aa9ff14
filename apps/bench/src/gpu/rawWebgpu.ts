import type { Contestant } from "../runner/subject.ts";
import { timed } from "../runner/timed.ts";
import { type Gpu, loadDawn } from "./idleGpu.ts";

/** Elements of the vector. */
const elements = 16;
const bytes = 4 * elements;

const code = `
  @group(0) @binding(0) var<storage, read> x: array<vec4f>;
  @group(0) @binding(1) var<storage, read_write> y: array<vec4f>;
  @compute @workgroup_size(${elements / 4}) fn main(@builtin(local_invocation_index) i: u32) { y[i] = max(x[i], vec4f()); }`;

/** `relu` of 16 elements, from the host and back, by WebGPU's calls alone: what a library adds to them is the difference. */
export const rawRelu: Contestant = {
  name: "Dawn alone",
  side: "peer",
  threads: undefined,
  async prepare() {
    const { run, dispose } = await openRelu();
    return { sample: timed(run), result: run, dispose };
  },
};

/** Dawn must not be collected while results are pending. */
let gpu: Gpu | undefined;

async function openRelu(): Promise<{ run(): Promise<Float32Array>; dispose(): void }> {
  const { create, globals } = loadDawn();
  const { GPUBufferUsage: usage, GPUMapMode: mode } = globals;
  gpu ??= create([]);
  const adapter = await gpu.requestAdapter();
  const device = await adapter!.requestDevice();
  const x = device.createBuffer({ size: bytes, usage: usage.STORAGE | usage.COPY_DST });
  const y = device.createBuffer({ size: bytes, usage: usage.STORAGE | usage.COPY_SRC });
  const mapped = device.createBuffer({ size: bytes, usage: usage.MAP_READ | usage.COPY_DST });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module: device.createShaderModule({ code }) } });
  const entries = [x, y].map((buffer, binding) => ({ binding, resource: { buffer } }));
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  const input = new Float32Array(elements).fill(3);
  return {
    async run() {
      device.queue.writeBuffer(x, 0, input);
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(1);
      pass.end();
      encoder.copyBufferToBuffer(y, 0, mapped, 0, bytes);
      device.queue.submit([encoder.finish()]);
      await mapped.mapAsync(mode.READ);
      const result = new Float32Array(mapped.getMappedRange().slice(0));
      mapped.unmap();
      return result;
    },
    dispose: () => device.destroy(),
  };
}
