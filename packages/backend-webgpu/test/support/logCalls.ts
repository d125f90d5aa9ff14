import { afterAll, afterEach, beforeEach } from "vitest";
import { describeOpened } from "./describeOpened.ts";
import { type OpenedBackend, openUnguarded } from "./openBackend.ts";

/** What a test counts of the device: dispatches by their number in a pass, and calls by name. */
export type Calls = (number | "write" | "copy" | "submit")[];

/** Logs calls that write, record and submit. Dispatches of a pass are one entry. */
export function logCalls(device: GPUDevice, calls: Calls): void {
  const { submit, writeBuffer } = device.queue;
  const { createCommandEncoder } = device;
  device.queue.submit = (buffers) => {
    calls.push("submit");
    return submit.call(device.queue, buffers);
  };
  device.queue.writeBuffer = (...args: Parameters<GPUQueue["writeBuffer"]>) => {
    calls.push("write");
    return writeBuffer.apply(device.queue, args);
  };
  device.createCommandEncoder = (descriptor) => {
    const encoder = createCommandEncoder.call(device, descriptor);
    const { beginComputePass, copyBufferToBuffer } = encoder;
    encoder.copyBufferToBuffer = (...copy: readonly unknown[]) => {
      calls.push("copy");
      return copyBufferToBuffer.apply(encoder, copy as Parameters<typeof copyBufferToBuffer>);
    };
    encoder.beginComputePass = (options) => {
      const pass = beginComputePass.call(encoder, options);
      const { dispatchWorkgroups, end } = pass;
      let count = 0;
      pass.dispatchWorkgroups = (...groups) => {
        count++;
        return dispatchWorkgroups.apply(pass, groups);
      };
      pass.end = () => {
        calls.push(count);
        return end.call(pass);
      };
      return pass;
    };
    return encoder;
  };
}

/**
 * Describes tests of which each has an unguarded backend of its own, whose calls are logged. `own` returns the running test's backend; `calls` has
 * what it has called.
 */
export function describeCalls(title: string, tests: (own: () => OpenedBackend, calls: Calls) => void): Promise<void> {
  return describeOpened(title, openUnguarded(), ({ backend: probe }) => {
    afterAll(() => probe.dispose());
    const calls: Calls = [];
    let opened: OpenedBackend;
    beforeEach(async () => {
      opened = await openUnguarded();
      calls.length = 0;
      logCalls(opened.device, calls);
    });
    afterEach(() => opened.backend.dispose());
    tests(() => opened, calls);
  });
}
