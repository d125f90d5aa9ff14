// Run as a process of its own by missing.test.ts, whose mocks would hide the errors of Node: opens the backend where the package webgpu is
// missing, and where it fails, on Linux with a Vulkan loader, whatever this machine is.
import { registerHooks } from "node:module";
import { webgpu } from "../../src/index.ts";

Object.defineProperty(process, "platform", { value: "linux" });
process.dlopen = () => {
  throw new Error("Module did not self-register: 'libvulkan.so.1'.");
};
for (const found of ["webgpu-missing", "data:text/javascript,throw new Error('no such symbol')"]) {
  const hooks = registerHooks({ resolve: (specifier, context, next) => next(specifier === "webgpu" ? found : specifier, context) });
  await webgpu()
    .open()
    .catch((error: unknown) => void process.stdout.write(`${String(error)}\n`));
  hooks.deregister();
}
