import { programTests } from "@centella/conformance";
import { describeConformance } from "./describeConformance.ts";

describeConformance(programTests);
