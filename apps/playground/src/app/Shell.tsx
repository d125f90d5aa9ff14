import type { ReactElement } from "react";
import { text } from "../text/english.ts";

/** What is shown until the scripts are there. It is part of the page's HTML. */
export function Shell(): ReactElement {
  return (
    <div className="space-y-2 p-6 text-sm">
      <p className="font-semibold">{text.name}</p>
      <p className="text-muted">{text.tagline}</p>
      <noscript>{text.noScript}</noscript>
    </div>
  );
}
