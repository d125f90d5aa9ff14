import type { Family } from "../../family.ts";
import { lfm2Model } from "./lfm2.ts";

/** LFM2, mixtures of experts: the first layers are dense. */
export const family: Family = (file) => lfm2Model(file, { experts: { normalize: true } });
