import { reference } from "@centella/core";
import { describeModel } from "./describeModel.ts";

describeModel("reference", reference(), { isExact: true, scope: "small" });
