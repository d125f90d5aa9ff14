import { describeBackend } from "@centella/core/testing";
import { cuda } from "../src/index.ts";

describeBackend("cuda", () => cuda().open());
