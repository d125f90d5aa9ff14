import { wasm } from "@centella/backend-wasm";
import { describeModel } from "./describeModel.ts";

describeModel("wasm", wasm(), { isExact: true });
