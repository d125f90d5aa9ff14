import { describeBackend } from "@centella/core/testing";
import { useSwiftShader } from "@centella/test-devices";
import { webgpu } from "../src/index.ts";

describeBackend("webgpu", () => {
  useSwiftShader();
  return webgpu().open();
});
