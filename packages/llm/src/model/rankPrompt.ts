import type { EncodeAsyncOptions, Tokenizer } from "../tokenizer/tokenizer.ts";

/** Encodes one document together with the query. */
export type PairPrompt = (document: string, options: Pick<EncodeAsyncOptions, "maxTokens" | "signal">) => Promise<readonly number[]>;

/**
 * How a query and a document are put to a reranker, as llama-server does it: by the file's template, or else
 * `[BOS] query [EOS] [SEP] document [EOS]` with the tokens that the file asks for. Markup of special tokens counts in the template alone.
 */
export function pairPrompt(tokenizer: Tokenizer, template: string | undefined, query: string): PairPrompt {
  return template === undefined ? plainPrompt(tokenizer, query) : templatePrompt(tokenizer, template, query);
}

function plainPrompt(tokenizer: Tokenizer, query: string): PairPrompt {
  const { addBos, bosId, addEos, separatorId, eosId = separatorId, addSeparator } = tokenizer;
  const [begin, end, separator] = [added(addBos, bosId), added(addEos, eosId), added(addSeparator, separatorId)];
  let encodedQuery: Int32Array | undefined;
  return async (document, options) => {
    encodedQuery ??= await tokenizer.encodeAsync(query, { addSpecial: false, ...options });
    const encoded = await tokenizer.encodeAsync(document, { addSpecial: false, ...options });
    return [...begin, ...encodedQuery, ...end, ...separator, ...encoded, ...end];
  };
}

function added(isAdded: boolean, id: number | undefined): readonly number[] {
  return isAdded && id !== undefined ? [id] : [];
}

function templatePrompt(tokenizer: Tokenizer, template: string, query: string): PairPrompt {
  const parts = template.split(/(\{query\}|\{document\})/);
  return async (document, options) => {
    let text = "";
    const parseSpecial: (readonly [start: number, end: number])[] = [];
    for (const [i, part] of parts.entries()) {
      const isSlot = i % 2 === 1;
      if (!isSlot && part !== "") parseSpecial.push([text.length, text.length + part.length]);
      text += isSlot ? ({ "{query}": query }[part] ?? document) : part;
    }
    return [...(await tokenizer.encodeAsync(text, { addSpecial: false, parseSpecial, ...options }))];
  };
}
