import { PipelineCache } from "../../src/device/pipelines.ts";
import type { Dispatch } from "../../src/kernels/shared/kernel.ts";

const usage = { mapRead: 0x1, copyFrom: 0x4, copyTo: 0x8, uniform: 0x40, storage: 0x80 };

/** A dispatch, and the names of the buffers that are bound to its bindings. */
export interface BoundDispatch {
  readonly dispatch: Dispatch;
  readonly buffers: Readonly<Record<string, string>>;
}

/**
 * Runs dispatches without symbolic dims in order, and reads the buffers `results`. Buffers are filled, or have a number of bytes. On a guarded
 * device, rejects if a dispatch wrote outside of its outputs.
 */
export async function runDispatches(
  device: GPUDevice,
  bound: readonly BoundDispatch[],
  contents: Readonly<Record<string, Uint8Array<ArrayBuffer> | number>>,
  results: readonly string[],
): Promise<readonly ArrayBuffer[]> {
  const buffers = Object.fromEntries(
    Object.entries(contents).map(([name, content]) => {
      const given = typeof content === "number" ? content : wholeWords(content);
      const size = typeof given === "number" ? given : given.byteLength;
      const buffer = device.createBuffer({ size, usage: usage.storage | usage.copyFrom | usage.copyTo });
      if (typeof given !== "number") device.queue.writeBuffer(buffer, 0, given);
      return [name, buffer] as const;
    }),
  );
  const pipelines = new PipelineCache(device);
  const encoder = device.createCommandEncoder();
  for (const { dispatch, buffers: names } of bound) {
    const pipeline = await pipelines.get("test", dispatch);
    const { groups, values } = dispatch.sizeIn({});
    const uniforms = device.createBuffer({ size: 256, usage: usage.uniform | usage.copyTo });
    const fields = new DataView(new ArrayBuffer(4 * dispatch.uniforms.length));
    for (const [i, { name, type }] of dispatch.uniforms.entries()) {
      if (type === "f32") fields.setFloat32(4 * i, values[name]!, true);
      else fields.setInt32(4 * i, values[name]!, true);
    }
    device.queue.writeBuffer(uniforms, 0, new Uint8Array(fields.buffer));
    const bindings = [...dispatch.bindings.map(({ name }) => buffers[names[name]!]!), uniforms];
    const entries = bindings.map((buffer, binding) => ({ binding, resource: { buffer } }));
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    const label = `the dispatch with ${Object.values(names).join()}`;
    pass.setBindGroup(0, device.createBindGroup({ label, layout: pipelines.layout(dispatch), entries }));
    pass.dispatchWorkgroups(groups);
    pass.end();
  }
  const copies = results.map((result) => {
    const source = buffers[result]!;
    const staging = device.createBuffer({ size: source.size, usage: usage.mapRead | usage.copyTo });
    encoder.copyBufferToBuffer(source, 0, staging, 0, source.size);
    return staging;
  });
  device.queue.submit([encoder.finish()]);
  await device.queue.onSubmittedWorkDone();
  await Promise.all(copies.map((staging) => staging.mapAsync(usage.mapRead)));
  return copies.map((staging) => staging.getMappedRange().slice(0));
}

/** The bytes and zeros up to a multiple of 4, which writes to buffers need. */
function wholeWords(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(4 * Math.ceil(bytes.length / 4));
  whole.set(bytes);
  return whole;
}
