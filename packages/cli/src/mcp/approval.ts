import type { TurnSource } from "../chat/turnSource.ts";
import { terminalText } from "../output.ts";
import type { Approve } from "./mcpServers.ts";

/** Asks the person at the terminal before each call. */
export function askBefore(ask: TurnSource["ask"]): Approve {
  const allowed = new Set<string>();
  // Calls of one answer run at the same time; their questions follow one another.
  let last: Promise<unknown> = Promise.resolve();
  return async ({ server, tool, arguments: given }, signal) => {
    const asked = last.then(async () => {
      const key = `${server} ${tool}`;
      if (allowed.has(key) || signal?.aborted === true) return;
      const answer = await ask(terminalText(`\nrun ${tool} of ${server} with ${JSON.stringify(given)}? (y)es, (n)o, (a)lways: `));
      if (/^a(lways)?$/i.test(answer)) allowed.add(key);
      else if (!/^y(es)?$/i.test(answer)) throw new Error("the user did not allow this call");
    });
    last = asked.catch(() => undefined);
    await asked;
    signal?.throwIfAborted();
  };
}
