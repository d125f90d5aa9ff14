import type { ModelCompetitor, ModelRunner } from "./competitor.ts";
import { trainedContext } from "./trainedContext.ts";

/** A model that several rows use. */
export interface SharedRunner {
  acquire(): Promise<ModelRunner>;
  release(): Promise<void>;
}

/** One loaded model for all rows of a file, with as much room as they need and the model has. */
export function sharedRunner(competitor: ModelCompetitor, file: string, room: number): SharedRunner {
  let users = 0;
  let opening: Promise<ModelRunner> | undefined;
  return {
    async acquire() {
      opening ??= trainedContext(file).then((context) => competitor.open(file, Math.min(room, context)));
      const runner = await opening;
      users++;
      return runner;
    },
    async release() {
      users--;
      if (users > 0) return;
      const runner = await opening!;
      opening = undefined;
      await runner.dispose();
    },
  };
}
