// Run as a process of its own by backend.test.ts: opens the package's own entry point, computes, disposes.
import { createProgram } from "@centella/core";
import { useSwiftShader } from "@centella/test-devices";
import { webgpu } from "../../src/index.ts";

useSwiftShader();
const backend = await webgpu({ powerPreference: "high-performance" }).open();
const program = createProgram();
program.output("y", program.scale(program.input("x", "f32", [2]), { by: 2 }));
const plan = await backend.compile(program);
const y = await plan.run({ x: Float32Array.of(1, 2) }).y!.data();
process.stdout.write(`${y.join()}\n`);
await backend.dispose();
