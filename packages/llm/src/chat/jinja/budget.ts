import { LimitError } from "./errors.ts";
import { type Origin, Text } from "./text.ts";

/** What one rendering may spend, and what it has spent. */
export class Budget {
  /** Most steps: evaluated nodes, created list elements and processed characters, weighted by their cost. */
  readonly #maxSteps: number;
  /** Most characters that one text of the rendering may have, the result included. */
  readonly #maxLength: number;
  #steps = 0;
  #calls = 0;

  /** @param inputLength characters of what is rendered: a long conversation may take longer */
  constructor(inputLength: number) {
    this.#maxSteps = baseSteps + inputLength;
    this.#maxLength = baseLength + 4 * inputLength;
  }

  /** @throws {LimitError} if the rendering has taken too long */
  spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > this.#maxSteps) throw new LimitError(`at most ${this.#maxSteps} evaluated steps`);
  }

  /** Pays for one pass over `length` characters. */
  spendOnText(length: number): void {
    this.spend(1 + length / charactersPerStep);
  }

  /** Pays for looking for `needle` in `text`, which takes time proportional to both in the worst case. */
  spendOnSearch(text: Text, needle: Text): void {
    this.spendOnText(text.length * Math.max(1, needle.length / searchedPerCharacter));
  }

  /** Pays for list elements that are about to be created. */
  spendOnElements(count: number): void {
    this.spend(count * stepsPerElement);
  }

  /** @throws {LimitError} if a text of this many characters is too long */
  checkLength(length: number): void {
    if (length > this.#maxLength) throw new LimitError(`at most ${this.#maxLength} characters of text`);
  }

  /** Runs a macro. @throws {LimitError} if too many are nested */
  nested<T>(call: () => T): T {
    if (this.#calls >= maxCalls) throw new LimitError(`macro calls nested at most ${maxCalls} deep`);
    this.#calls++;
    const result = call();
    this.#calls--;
    return result;
  }
}

const baseSteps = 10_000_000;
const baseLength = 2 ** 24;
const maxCalls = 100;
const charactersPerStep = 32;
const searchedPerCharacter = 16;
const stepsPerElement = 8;

/** Joins pieces of text within a budget. */
export class TextBuilder {
  readonly #budget: Budget;
  #value = "";
  #origins = "";

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  add(text: Text): this {
    return this.#append(text.value, text.origins);
  }

  addAs(value: string, origin: Origin): this {
    return this.#append(value, origin.repeat(value.length));
  }

  done(): Text {
    return new Text(this.#value, this.#origins);
  }

  #append(value: string, origins: string): this {
    this.#budget.spendOnText(value.length);
    this.#budget.checkLength(this.#value.length + value.length);
    this.#value += value;
    this.#origins += origins;
    return this;
  }
}
