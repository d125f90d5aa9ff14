import { conformanceSample, describeBackend } from "@centella/conformance";
import { isWholeGrid } from "@centella/test-devices";
import { CudaBackend } from "../src/backend.ts";
import { InterpretedDriver } from "./interpreter/interpretedDriver.ts";

const sample = conformanceSample("large");

describeBackend("cuda on the PTX interpreter", async () => new CudaBackend(new InterpretedDriver()), {
  filter: (id) => isWholeGrid || sample.has(id),
});
