import type { ConformanceTest } from "../conformanceTest.ts";
import { basics } from "./basics.ts";
import { batch } from "./batch.ts";
import { dims } from "./dims.ts";
import { fusion } from "./fusion.ts";
import { indices } from "./indices.ts";
import { kvCache } from "./kvCache.ts";
import { lifetime } from "./lifetime.ts";
import { persistents } from "./persistents.ts";
import { profiles } from "./profile.ts";
import { quantisedPrograms } from "./quantised.ts";
import { randomPrograms } from "./random.ts";
import { mixedPrograms } from "./randomMixed.ts";
import { scalars } from "./scalars.ts";

/** Whole programs that every backend must run like the reference. */
export const programTests: readonly ConformanceTest[] = [
  ...basics,
  ...dims,
  ...quantisedPrograms,
  ...scalars,
  ...persistents,
  ...kvCache,
  ...lifetime,
  ...indices,
  ...batch,
  ...profiles,
  ...fusion,
  ...randomPrograms,
  ...mixedPrograms,
];
