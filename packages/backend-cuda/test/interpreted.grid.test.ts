import { describeBackend } from "@centella/conformance";
import { isFullGrid } from "@centella/test-devices";
import { CudaBackend } from "../src/backend.ts";
import { InterpretedDriver } from "./interpreter/interpretedDriver.ts";

describeBackend("cuda on the PTX interpreter", async () => new CudaBackend(new InterpretedDriver()), { isSample: !isFullGrid });
