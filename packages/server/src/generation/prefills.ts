import type { AdapterScales, GenerationPart, Prompt } from "@centella/llm";
import { type Permit, stallMs } from "../admission/admission.ts";
import { adaptersKey } from "../models/adapterKey.ts";
import { textOf } from "./promptText.ts";

/** Characters that two prompts must have in common: about 250 tokens. Less is computed faster than waited for. */
const minCommon = 1000;

/** A prompt that is being computed. */
export class Prefill {
  readonly text: string;
  readonly permit: Permit;
  /** Share of the prompt that is in the cache. */
  share = 0;
  /** Settles with the next progress, or at the end. */
  changed: Promise<void>;
  #wake!: () => void;

  constructor(text: string, permit: Permit) {
    this.text = text;
    this.permit = permit;
    this.changed = this.#next();
  }

  /** Learns the progress from the parts of a text. */
  record(part: GenerationPart): void {
    const share = part.type !== "prefill" ? 1 : part.total > 0 ? part.done / part.total : 0;
    if (share > this.share) this.advance(share);
  }

  advance(share: number): void {
    this.share = share;
    const wake = this.#wake;
    this.changed = this.#next();
    wake();
  }

  #next(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/**
 * The prompts of a model that are being computed. A prompt that begins like an earlier one waits until that beginning is in the cache: texts
 * share what was computed before they begin, and not what they compute at the same time.
 */
export class Prefills {
  /** In the order of arrival. */
  readonly #running = new Set<Prefill>();

  /** Waits for a common beginning. Call {@link end} when the text has ended. @throws the signal's reason */
  async begin(prompt: Prompt, permit: Permit, signal: AbortSignal, adapters?: AdapterScales): Promise<Prefill> {
    const prefill = new Prefill(adaptersKey(adapters) + textOf(prompt), permit);
    const [earlier, length] = this.#closest(prefill);
    this.#running.add(prefill);
    try {
      const wanted = length / (earlier?.text.length ?? 1);
      // A text that nobody reads does not advance.
      while (earlier !== undefined && earlier.share < wanted && !earlier.permit.isStalled) await soon(earlier.changed, signal);
      return prefill;
    } catch (error) {
      this.end(prefill);
      throw error;
    }
  }

  end(prefill: Prefill): void {
    if (this.#running.delete(prefill)) prefill.advance(1);
  }

  /** The prompt with the longest common beginning, and its number of characters. */
  #closest({ text }: Prefill): readonly [Prefill | undefined, number] {
    let [closest, longest]: [Prefill | undefined, number] = [undefined, minCommon - 1];
    for (const each of this.#running) {
      const length = each.share < 1 ? commonLength(each.text, text) : 0;
      if (length > longest) [closest, longest] = [each, length];
    }
    return [closest, longest];
  }
}

function commonLength(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  let length = 0;
  while (length < end && a.charCodeAt(length) === b.charCodeAt(length)) length++;
  return length;
}

/** Waits for a change, but no longer than a text may take to count as stalled. @throws the signal's reason */
async function soon(change: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve) => {
    const wake = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", wake);
      resolve();
    };
    const timer = setTimeout(wake, stallMs);
    signal.addEventListener("abort", wake);
    void change.then(wake);
  });
  signal.throwIfAborted();
}
