import type { ChatMessage } from "@centella/llm";
import { type ReactElement, useEffect, useState } from "react";
import { useCurrentModel } from "../model/ModelProvider.tsx";
import { useVocabulary } from "../model/useVocabulary.ts";
import { text } from "../text/english.ts";
import { Button, Field, inputClass, Section } from "../ui/controls.tsx";
import { ErrorNote } from "../ui/ErrorNote.tsx";
import { formatCount } from "../ui/format.ts";
import { Page } from "../ui/Page.tsx";
import { Tokens } from "../ui/Tokens.tsx";
import { useTask } from "../ui/useTask.ts";
import type { Token } from "../workers/vocabulary.ts";
import { heatOf, logprobsOf } from "./heat.ts";

/** Tokens of a text, how likely the model finds them, and the prompt that the chat template makes. */
export function TokensPage(): ReactElement {
  const vocabulary = useVocabulary();
  return (
    <Page title={text.pages.tokens} intro={text.tokens.intro}>
      {vocabulary.error !== undefined && <ErrorNote error={vocabulary.error} />}
      <Tokenizer {...vocabulary} />
      <Template {...vocabulary} />
    </Page>
  );
}

type VocabularyProps = ReturnType<typeof useVocabulary>;

/** Longest text whose probabilities are computed: each token has a number for each token of the vocabulary. */
const maxLogits = 2 ** 26;

interface Heat {
  readonly tokens: readonly Token[];
  readonly logprobs: readonly (number | undefined)[];
}

function Tokenizer({ vocabulary }: VocabularyProps): ReactElement {
  const { model } = useCurrentModel();
  const [written, setWritten] = useState<string>(text.tokens.sample);
  const [parsesMarkup, setParsesMarkup] = useState(false);
  const { start, result: tokens = [], error } = useTask<readonly Token[]>();
  const heat = useTask<Heat>();
  useEffect(() => {
    if (vocabulary !== undefined) start(async () => vocabulary.encode(written, parsesMarkup));
  }, [vocabulary, written, parsesMarkup, start]);
  const compute = (): void =>
    heat.start(async (signal) => {
      if (model === undefined) throw new Error(text.common.noModel);
      const shown = tokens.slice(0, Math.min(model.info.contextLength, Math.floor(maxLogits / model.info.vocabSize)));
      const ids = shown.map(({ id }) => id);
      return { tokens: shown, logprobs: logprobsOf(await model.logits(ids, { signal }), ids) };
    });
  return (
    <Section title={text.tokens.tokenizer}>
      <Field label={text.tokens.text}>
        <textarea className={inputClass} rows={4} value={written} onChange={({ target }) => setWritten(target.value)} />
      </Field>
      <label className="flex items-center gap-2 text-sm">
        <input type="checkbox" checked={parsesMarkup} onChange={({ target }) => setParsesMarkup(target.checked)} />
        {text.tokens.parseMarkup}
      </label>
      {error !== undefined && <ErrorNote error={error} />}
      <p role="status" className="text-sm text-muted" data-testid="token-count">
        {text.tokens.count(formatCount(tokens.length), formatCount(written.length))}
      </p>
      <Tokens tokens={tokens} describe={({ id }) => text.tokens.id(String(id))} />
      <Button onClick={compute} disabled={model === undefined || tokens.length === 0 || heat.isRunning}>
        {heat.isRunning ? text.common.running : text.tokens.heat}
      </Button>
      {heat.error !== undefined && <ErrorNote error={heat.error} />}
      {heat.result !== undefined && <HeatMap {...heat.result} />}
    </Section>
  );
}

function HeatMap({ tokens, logprobs }: Heat): ReactElement {
  const known = logprobs.filter((logprob) => logprob !== undefined);
  const perplexity = Math.exp(-known.reduce((sum, logprob) => sum + logprob, 0) / Math.max(1, known.length));
  const describe = (_: Token, index: number): string => {
    const logprob = logprobs[index];
    return logprob === undefined ? text.tokens.first : text.tokens.probability((100 * Math.exp(logprob)).toFixed(2), logprob.toFixed(2));
  };
  return (
    <div className="space-y-2" data-testid="heat">
      <p className="text-sm text-muted">{text.tokens.heatHint}</p>
      <Tokens tokens={tokens} colourOf={(index) => heatOf(logprobs[index])} describe={describe} />
      <p className="text-sm">{text.tokens.perplexity(perplexity.toFixed(2))}</p>
    </div>
  );
}

interface Rendered {
  readonly source: string | undefined;
  readonly text: string;
  readonly tokens: readonly Token[];
}

const firstMessages: readonly ChatMessage[] = [
  { role: "user", content: text.tokens.sampleQuestion },
  { role: "assistant", content: text.tokens.sampleAnswer },
  { role: "user", content: text.tokens.sampleNext },
];

function Template({ vocabulary }: VocabularyProps): ReactElement {
  const [messages, setMessages] = useState(JSON.stringify(firstMessages, null, 2));
  const { start, result, error } = useTask<Rendered>();
  useEffect(() => {
    if (vocabulary === undefined) return;
    start(async () => {
      const [source, rendered] = [await vocabulary.templateSource(), await vocabulary.render(JSON.parse(messages))];
      return { source, text: rendered?.text ?? "", tokens: rendered?.tokens ?? [] };
    });
  }, [vocabulary, messages, start]);
  return (
    <Section title={text.tokens.template}>
      <Field label={text.tokens.messages}>
        <textarea
          className={`${inputClass} font-mono`}
          rows={8}
          spellCheck={false}
          value={messages}
          onChange={({ target }) => setMessages(target.value)}
        />
      </Field>
      {error !== undefined && <ErrorNote error={error} />}
      {result !== undefined && result.source === undefined && <p className="text-sm text-muted">{text.tokens.noTemplate}</p>}
      {result?.source !== undefined && (
        <>
          <output className="block rounded-lg bg-sunken p-3 font-mono text-sm whitespace-pre-wrap wrap-anywhere" data-testid="rendered">
            {result.text}
          </output>
          <Tokens tokens={result.tokens} describe={({ id }) => text.tokens.id(String(id))} />
          <details className="text-sm">
            <summary>{text.tokens.templateSource}</summary>
            <code className="mt-2 block rounded-lg bg-sunken p-3 text-xs break-words whitespace-pre-wrap">{result.source}</code>
          </details>
        </>
      )}
    </Section>
  );
}
