import { LimitError } from "./errors.ts";
import { type Origin, Text } from "./text.ts";

/** Limits of one rendering and how much of them is used. */
export class Budget {
  /** Maximum number of steps: evaluated nodes, created list elements and processed characters, weighted by cost. */
  readonly #maxSteps: number;
  /** Maximum length of any text during the rendering, including the result, in UTF-16 units. */
  readonly #maxLength: number;
  #steps = 0;
  #calls = 0;

  /** @param inputLength characters of the input; longer conversations get larger limits */
  constructor(inputLength: number) {
    this.#maxSteps = baseSteps + inputLength;
    this.#maxLength = baseLength + 4 * inputLength;
  }

  /** Counts steps. @throws {LimitError} if the rendering exceeds its limit */
  spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > this.#maxSteps) throw new LimitError(`at most ${this.#maxSteps} evaluated steps`);
  }

  /** Counts the steps of one pass over `length` characters. */
  spendOnText(length: number): void {
    this.spend(1 + length / charactersPerStep);
  }

  /** Counts the steps of a search for `needle` in `text`, whose worst case is proportional to the product of their lengths. */
  spendOnSearch(text: Text, needle: Text): void {
    this.spendOnText(text.length * Math.max(1, needle.length / searchedPerCharacter));
  }

  /** Counts the steps of list elements before they are created. */
  spendOnElements(count: number): void {
    this.spend(count * stepsPerElement);
  }

  /** @throws {LimitError} if a text of this many characters is too long */
  checkLength(length: number): void {
    if (length > this.#maxLength) throw new LimitError(`at most ${this.#maxLength} characters of text`);
  }

  /** Runs a macro. @throws {LimitError} if calls are nested too deeply */
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
