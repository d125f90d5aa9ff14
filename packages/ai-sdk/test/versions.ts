import * as sdk7 from "ai";
import * as sdk6 from "ai-6";
import type { CentellaProvider } from "../src/index.ts";
import { withCheckedStreams } from "./parts.ts";
import type { openProviders } from "./providers.ts";

/** A version of the AI SDK and a provider for it. */
export type Version = readonly [name: string, sdk: typeof sdk7, centella: CentellaProvider<"fable">];

/**
 * Both versions of the AI SDK with their providers, whose streams are held to the specification. Version 6 has the types of version 7: the
 * tests call what both have.
 */
export function versionsOf({ v3, v4 }: Awaited<ReturnType<typeof openProviders>>): readonly Version[] {
  return [
    ...v4.map(([place, centella]): Version => [`7 over ${place}`, sdk7, withCheckedStreams(centella)]),
    ...v3.map(
      ([place, centella]): Version => [
        `6 over ${place}`,
        sdk6 as object as typeof sdk7,
        withCheckedStreams(centella as object as CentellaProvider<"fable">),
      ],
    ),
  ];
}
