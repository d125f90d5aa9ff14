import { type GgufInput, readGguf } from "@centella/gguf";
import { type Constraint, compile, fromJsonSchema, type JsonSchema, type Vocabulary, vocabulary } from "@centella/grammar";
import { type ChatMessage, ChatTemplate, createTokenizer, type Tokenizer } from "@centella/llm";
import { expose } from "comlink";

/** A token and its text. */
export interface Token {
  readonly id: number;
  readonly text: string;
  readonly isSpecial: boolean;
}

/** Which tokens a format allows before one of its text. */
export interface AllowedTokens {
  readonly count: number;
  /** Some of them. */
  readonly examples: readonly Token[];
}

/** Most examples of a step. */
const maxExamples = 60;

/** The vocabulary and chat template of a model's file, in a thread of its own: large vocabularies take a while to prepare. */
class ModelVocabulary {
  #tokenizer: Tokenizer | undefined;
  #template: ChatTemplate | undefined;
  #vocabulary: Vocabulary | undefined;

  /** Reads the header of a file. @throws {GgufError | TokenizerError} */
  async open(input: GgufInput): Promise<void> {
    const file = await readGguf(input, { cache: false });
    await file.close();
    this.#tokenizer = createTokenizer(file.metadata);
    this.#template = file.metadata.has("tokenizer.chat_template") ? ChatTemplate.fromMetadata(file.metadata) : undefined;
  }

  /** Tokens of a text. Markup is text unless `parseSpecial`. */
  encode(text: string, parseSpecial: boolean): readonly Token[] {
    const ids = this.#opened.encode(text, { parseSpecial });
    return [...ids].map((id) => this.#tokenOf(id));
  }

  tokens(ids: readonly number[]): readonly Token[] {
    return ids.map((id) => this.#tokenOf(id));
  }

  /** The source of the chat template; undefined if the file has none. */
  templateSource(): string | undefined {
    return this.#template?.source;
  }

  /** The prompt that the chat template makes of messages, as text and as tokens. @throws {ChatTemplateError | ArgumentError} */
  render(messages: readonly ChatMessage[]): { readonly text: string; readonly tokens: readonly Token[] } | undefined {
    if (this.#template === undefined) return undefined;
    const ids = this.#template.encode(this.#opened, messages);
    return { text: this.#template.render(messages), tokens: this.tokens([...ids]) };
  }

  /** Which tokens a schema allows before each of these. @throws {GrammarError} */
  allowed(schema: JsonSchema, ids: readonly number[]): readonly AllowedTokens[] {
    const matcher = this.#compile(schema).matcher();
    const mask = new Uint32Array(Math.ceil(this.#opened.vocabSize / 32));
    const steps: AllowedTokens[] = [];
    for (const id of ids) {
      matcher.mask(mask);
      steps.push(this.#described(mask));
      if (!matcher.accept(id)) break;
    }
    return steps;
  }

  #described(mask: Uint32Array): AllowedTokens {
    const examples: Token[] = [];
    let count = 0;
    for (let id = 0; id < this.#opened.vocabSize; id++) {
      if (((mask[id >> 5]! >>> (id & 31)) & 1) === 0) continue;
      count++;
      if (examples.length < maxExamples) examples.push(this.#tokenOf(id));
    }
    return { count, examples };
  }

  #compile(schema: JsonSchema): Constraint {
    const tokenizer = this.#opened;
    const ids = Array.from({ length: tokenizer.vocabSize }, (_, id) => id);
    this.#vocabulary ??= vocabulary(
      ids.map((id) => tokenizer.tokenBytes(id)),
      { endIds: tokenizer.endOfGenerationIds, specialIds: ids.filter((id) => tokenizer.isSpecial(id)) },
    );
    return compile(fromJsonSchema(schema), this.#vocabulary);
  }

  #tokenOf(id: number): Token {
    const tokenizer = this.#opened;
    const isSpecial = tokenizer.isSpecial(id);
    return { id, isSpecial, text: isSpecial ? tokenizer.tokenText(id) : tokenizer.decode([id], { skipSpecial: false }) };
  }

  get #opened(): Tokenizer {
    if (this.#tokenizer === undefined) throw new Error("vocabulary: expected an open file, got none; call open first");
    return this.#tokenizer;
  }
}

export type { ModelVocabulary };

expose(new ModelVocabulary());
