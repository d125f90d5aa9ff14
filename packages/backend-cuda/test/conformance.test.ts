import { describeBackend } from "@centella/conformance";
import { cuda } from "../src/index.ts";

describeBackend("cuda", () => cuda().open());
