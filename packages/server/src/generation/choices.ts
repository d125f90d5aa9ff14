import type { AnswerPart, ChoicePart } from "./answerParts.ts";

/** One of several texts. */
export interface Text {
  /** Number of the text that must have computed its prompt first, so that the beginning of both is in the cache. */
  readonly after: number;
  open(): AsyncGenerator<AnswerPart, void, undefined>;
}

interface Step {
  readonly choice: number;
  readonly result: IteratorResult<AnswerPart, void>;
}

/** The parts of texts that are generated at the same time, as they arrive. The first text begins. */
export function mergeChoices(texts: readonly Text[]): AsyncGenerator<ChoicePart, void, undefined> {
  return texts.length === 1 ? onlyChoice(texts[0]!) : mergeSeveral(texts);
}

/** Most requests ask for one text, which needs no race of promises for each part. */
async function* onlyChoice(text: Text): AsyncGenerator<ChoicePart, void, undefined> {
  for await (const part of text.open()) yield { choice: 0, part };
}

async function* mergeSeveral(texts: readonly Text[]): AsyncGenerator<ChoicePart, void, undefined> {
  const opened = new Map<number, AsyncGenerator<AnswerPart, void, undefined>>();
  const pending = new Map<number, Promise<Step>>();
  const advance = (choice: number): void => {
    const step = opened
      .get(choice)!
      .next()
      .then((result) => ({ choice, result }));
    // The loop throws it, unless another text has failed before.
    step.catch(() => undefined);
    pending.set(choice, step);
  };
  const open = (choice: number): void => {
    opened.set(choice, texts[choice]!.open());
    advance(choice);
  };
  open(0);
  try {
    while (pending.size > 0) {
      const { choice, result } = await Promise.race(pending.values());
      pending.delete(choice);
      if (hasPrompt(result)) for (const [i, { after }] of texts.entries()) if (after === choice && !opened.has(i)) open(i);
      if (result.done) continue;
      yield { choice, part: result.value };
      advance(choice);
    }
  } finally {
    await Promise.all([...opened.values()].map((text) => text.return()));
  }
}

/** Whether the text's prompt is computed. */
function hasPrompt({ done, value }: IteratorResult<AnswerPart, void>): boolean {
  return done === true || value.type !== "prefill" || value.done === value.total;
}
