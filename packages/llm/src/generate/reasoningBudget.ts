import { opensReasoning, promptEndOf, type ReasoningFormat } from "../chat/reasoning.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";

/** Most characters of the text's end that are kept to find tags in. */
const keptLength = 64;

/** Ends the reasoning of one text after a number of tokens, by forcing the tag that closes it. */
export class ReasoningBudget {
  readonly #tokenizer: Tokenizer;
  readonly #open: string;
  readonly #close: string;
  #left: number;
  #state: "before" | "within" | "after";
  #end = "";
  #forced: number[] = [];

  constructor(
    tokenizer: Tokenizer,
    format: ReasoningFormat,
    { budget, promptIds }: { readonly budget: number; readonly promptIds: readonly number[] },
  ) {
    const tags = format === "harmony" ? { open: "<|channel|>analysis<|message|>", close: "<|end|>" } : format;
    this.#tokenizer = tokenizer;
    this.#open = tags.open;
    this.#close = tags.close;
    this.#left = budget;
    this.#state = opensReasoning(tags, promptEndOf(tokenizer, promptIds, [tags.open])) ? "within" : "before";
  }

  /** The token that must come next, if the reasoning has used up its budget. */
  next(): number | undefined {
    if (this.#forced.length > 0) return this.#forced[0];
    if (this.#state !== "within" || this.#left > 0) return undefined;
    this.#forced = [...this.#tokenizer.encode(this.#close, { addSpecial: false, parseSpecial: true })];
    return this.#forced[0];
  }

  /** Appends a token of the text. */
  accept(id: number): void {
    if (this.#forced.length > 0) this.#forced.shift();
    if (this.#state === "after") return;
    if (this.#state === "within") this.#left--;
    const text = this.#tokenizer.decode([id], { skipSpecial: false });
    this.#end = (this.#end + text).slice(-keptLength);
    if (this.#state === "before" && this.#end.includes(this.#open)) {
      this.#state = "within";
      this.#end = "";
    } else if (this.#state === "within" && this.#end.includes(this.#close)) this.#state = "after";
  }
}
