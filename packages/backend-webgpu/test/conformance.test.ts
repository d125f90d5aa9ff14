import { describeBackend } from "@centella/core/testing";
import { webgpu } from "../src/index.ts";
import { useSwiftShader } from "./swiftshader.ts";

describeBackend("webgpu", () => {
  useSwiftShader();
  return webgpu().open();
});
