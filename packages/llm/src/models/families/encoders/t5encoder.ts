import { encode, readBuckets } from "../../blocks/attention/t5.ts";
import { readConfig } from "../../config.ts";
import type { Family } from "../../family.ts";

/** T5's encoder. */
export const family: Family = (file) => {
  const buckets = readBuckets(file);
  const config = readConfig(file, { isEncoder: true });
  return { config, forward: (m) => encode(m, buckets, config.layers) };
};
