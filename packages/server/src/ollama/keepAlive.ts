import * as z from "zod/mini";
import type { Call } from "../http/route.ts";
import { modelName } from "./modelName.ts";

const units = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;
const duration = /^-?(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/;

/** How long a lazy model stays loaded after a request: seconds, or a duration such as "5m" or "1h30m". Below 0: for ever. */
export const keepAliveField: z.ZodMiniOptional<z.ZodMiniUnion<readonly [z.ZodMiniNumber, z.ZodMiniString]>> = z.optional(
  z.union([
    z.number(),
    z.string().check(z.refine((value) => value === "0" || duration.test(value), { error: "expected a duration such as 5m" })),
  ]),
);

/** Longest time of a timer. */
const maxTimerMs = 2 ** 31 - 1;

/** Milliseconds of a {@link keepAliveField}; undefined for ever. */
function millisecondsOf(given: string | number): number | undefined {
  const ms =
    typeof given === "number"
      ? 1000 * given
      : [...given.matchAll(/([\d.]+)(ns|us|µs|ms|s|m|h)/g)].reduce(
          (sum, [, count, unit]) => sum + Number(count) * units[unit as keyof typeof units],
          0,
        );
  const isForever = ms < 0 || (typeof given === "string" && given.startsWith("-"));
  return isForever || ms > maxTimerMs ? undefined : ms;
}

/** Sets how long the request's model stays loaded, if the request says so. */
export function keepModel({ services }: Call, { model, keep_alive: given }: KeepAlive): void {
  if (given !== undefined) services.models.find(modelName(model))?.keepFor(millisecondsOf(given));
}

/** Whether the request wants its model to be unloaded. */
export function isUnload({ keep_alive: given }: KeepAlive): boolean {
  return given !== undefined && millisecondsOf(given) === 0;
}

interface KeepAlive {
  readonly model: string;
  readonly keep_alive?: string | number | undefined;
}
