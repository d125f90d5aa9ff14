import type { JsonSchema } from "@centella/grammar";
import type { GenerateOptions, GenerationFinish } from "../src/index.ts";

/** A schema whose texts are short, whatever a model prefers, and whether a value is valid under it. */
export interface RandomSchema {
  readonly schema: JsonSchema;
  isValid(value: unknown): boolean;
}

/** Numbers from 0 to 1, the same for a seed: mulberry32. */
function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Makes random schemas, and what is valid under them without reading them again. */
class SchemaMaker {
  readonly #next: () => number;

  constructor(seed: number) {
    this.#next = numbers(seed);
  }

  schema(depth: number): RandomSchema {
    const leaves = [() => this.#string(), () => this.#pattern(), () => this.#integer(), () => this.#step(), () => this.#choice()];
    const nested = [() => this.#object(depth), () => this.#object(depth), () => this.#array(depth), () => this.#either(depth)];
    return this.#pick(depth === 0 ? leaves : [...leaves, ...nested, ...nested])();
  }

  #below(count: number): number {
    return Math.floor(this.#next() * count);
  }

  #pick<T>(items: readonly T[]): T {
    return items[this.#below(items.length)] as T;
  }

  #string(): RandomSchema {
    const minLength = this.#below(4);
    const maxLength = minLength + this.#below(6);
    const isValid = (value: unknown): boolean =>
      typeof value === "string" && [...value].length >= minLength && [...value].length <= maxLength;
    return { schema: { type: "string", minLength, maxLength }, isValid };
  }

  #pattern(): RandomSchema {
    const pattern = this.#pick(["^[A-Z]{2,3}-\\d{1,4}$", "^(red|green) (fox|owl)$", "^\\p{Lu}\\p{Ll}{1,5}$", "^(\\w{1,3}\\.){2}[^\\s,]$"]);
    const expression = new RegExp(pattern, "u");
    return { schema: { type: "string", pattern }, isValid: (value) => typeof value === "string" && expression.test(value) };
  }

  #integer(): RandomSchema {
    const minimum = this.#below(2000) - 1000;
    const maximum = minimum + this.#below(5000);
    const isValid = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= minimum && (value as number) <= maximum;
    return { schema: { type: "integer", minimum, maximum }, isValid };
  }

  #step(): RandomSchema {
    const [multipleOf, exclusiveMaximum] = [this.#pick([0.25, 0.5, 3]), 1 + this.#below(50)];
    const isValid = (value: unknown): boolean =>
      typeof value === "number" && value >= 0 && value < exclusiveMaximum && Number.isInteger(value / multipleOf);
    return { schema: { type: "number", minimum: 0, exclusiveMaximum, multipleOf }, isValid };
  }

  #choice(): RandomSchema {
    const values = [null, true, 'a "b" \\ c', "w\u00f6lfisch", -7, 0.5, "fox"].filter(() => this.#next() < 0.6);
    if (values.length === 0) return { schema: { type: "boolean" }, isValid: (value) => typeof value === "boolean" };
    return { schema: { enum: values }, isValid: (value) => (values as unknown[]).includes(value) };
  }

  #array(depth: number): RandomSchema {
    const items = this.schema(depth - 1);
    const minItems = this.#below(3);
    const maxItems = minItems + this.#below(3);
    const isValid = (value: unknown): boolean =>
      Array.isArray(value) && value.length >= minItems && value.length <= maxItems && value.every((item) => items.isValid(item));
    return { schema: { type: "array", items: items.schema, minItems, maxItems }, isValid };
  }

  #object(depth: number): RandomSchema {
    const names = ["name", "the id", "x", '\u00fc "q"', "list"].slice(0, 1 + this.#below(5));
    const members = names.map((name) => ({ name, isRequired: this.#next() < 0.6, ...this.schema(depth - 1) }));
    const isMember = (name: string, value: unknown): boolean => members.find((member) => member.name === name)?.isValid(value) ?? false;
    return {
      schema: {
        type: "object",
        properties: Object.fromEntries(members.map(({ name, schema }) => [name, schema])),
        required: members.filter(({ isRequired }) => isRequired).map(({ name }) => name),
        additionalProperties: false,
      },
      isValid: (value) =>
        typeof value === "object" &&
        value !== null &&
        !Array.isArray(value) &&
        Object.entries(value).every(([name, each]) => isMember(name, each)) &&
        members.every(({ name, isRequired }) => !isRequired || Object.hasOwn(value, name)),
    };
  }

  #either(depth: number): RandomSchema {
    const of = [this.schema(depth - 1), this.schema(depth - 1)];
    return { schema: { anyOf: of.map(({ schema }) => schema) }, isValid: (value) => of.some((each) => each.isValid(value)) };
  }
}

/** The schema of a seed. */
export function randomSchema(seed: number): RandomSchema {
  return new SchemaMaker(seed).schema(2);
}

/** What {@link invalidTexts} needs of a model; that of `loadModel`. */
interface TextModel {
  createSession(): {
    complete(prompt: { readonly ids: readonly number[] }, options: GenerateOptions): Promise<GenerationFinish>;
    dispose(): void;
  };
}

/** Texts of a model under random schemas at temperature 2, the first at seed `from`, several at a time. Returns those that are not valid. */
export async function invalidTexts(
  model: TextModel,
  {
    count,
    from = 0,
    atATime = 8,
    ids,
  }: { readonly count: number; readonly from?: number; readonly atATime?: number; readonly ids: readonly number[] },
): Promise<readonly string[]> {
  const invalid: string[] = [];
  let next = from;
  const work = async (): Promise<void> => {
    while (next < from + count) {
      const seed = next++;
      // Some texts of each schema, so that masks come back.
      const { schema, isValid } = randomSchema(Math.floor(seed / 4));
      const session = model.createSession();
      const finish = await session.complete({ ids }, { temperature: 2, seed, format: { schema } });
      session.dispose();
      const isRight = finish.reason === "eos" && finish.complete === true && isValid(JSON.parse(finish.text));
      if (!isRight) invalid.push(`seed ${seed}: ${finish.reason} ${finish.text} under ${JSON.stringify(schema)}`);
    }
  };
  await Promise.all(Array.from({ length: atATime }, work));
  return invalid;
}
