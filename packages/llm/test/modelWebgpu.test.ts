import { webgpu } from "@centella/backend-webgpu";
import { useSwiftShader } from "../../backend-webgpu/test/swiftshader.ts";
import { describeModel } from "./describeModel.ts";

const factory = webgpu();
describeModel(
  "webgpu",
  {
    name: factory.name,
    open() {
      useSwiftShader();
      return factory.open();
    },
  },
  { isExact: false },
);
