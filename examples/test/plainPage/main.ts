// A page that Vite builds without configuration: one product on WebGPU, whose form is tuned once and kept by the page.
import { webgpu } from "@centella/backend-webgpu";
import { createProgram, createRuntime } from "@centella/core";

const tuning = {
  get: (key: string) => localStorage.getItem(key),
  set: (key: string, value: string) => localStorage.setItem(key, value),
};
// Software devices compute only where they are asked for.
const runtime = await createRuntime({ backends: [webgpu({ tuning })], policy: { force: "webgpu" } });
const program = createProgram();
const x = program.input("x", "f32", [1, 64]);
const w = program.persistent("w", { dtype: "f32", shape: [24, 64] });
program.output("y", program.matmul(x, w, { transposeB: true }));
const plan = await runtime.compile(program);
const weights = Float32Array.from({ length: 24 * 64 }, (_, i) => Math.floor(i / 64) - 10);
await plan.load("w", { size: weights.byteLength, read: async (offset, length) => new Uint8Array(weights.buffer, offset, length) });
const y = await plan.run({ x: new Float32Array(64).fill(0.5) }).y!.data();
await runtime.dispose();
document.querySelector("output")!.textContent = [...y].join(" ");
