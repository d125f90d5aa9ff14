// Imported by path, because a dependency would be a cycle: the suite depends on core.
import { describeBackend } from "../../conformance/src/index.ts";
import { reference } from "../src/index.ts";

describeBackend("reference", () => reference().open());
