import { cuda } from "@centella/backend-cuda";
import { describeModel } from "./describeModel.ts";

describeModel("cuda", cuda(), { isExact: false });
