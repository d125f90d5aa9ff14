import { reference } from "../src/index.ts";
import { describeBackend } from "../src/testing/index.ts";

describeBackend("reference", () => reference().open());
