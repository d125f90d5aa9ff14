import { opTests } from "@centella/conformance";
import { describeConformance } from "./describeConformance.ts";

// `conformancePrograms.grid.test.ts` has the others: together they would take longer than all other files.
describeConformance(opTests());
