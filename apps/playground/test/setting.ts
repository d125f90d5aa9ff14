import type { Browser, BrowserContext } from "playwright-core";
import type { Host } from "./site.ts";

/** What the specs need. */
export interface Setting {
  readonly browser: Browser;
  /** A profile that specs share if they store nothing but the model. */
  readonly context: BrowserContext;
  readonly url: string;
  /** The folder of the built page. */
  readonly folder: string;
  readonly host: Host;
}
