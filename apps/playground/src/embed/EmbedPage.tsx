import { UnsupportedError } from "@centella/core";
import type { EngineModel } from "@centella/llm/store";
import { type ReactElement, useState } from "react";
import { useCurrentModel } from "../model/ModelProvider.tsx";
import { text } from "../text/english.ts";
import { Button, Field, inputClass, Scroll, Section, tableClass } from "../ui/controls.tsx";
import { ErrorNote } from "../ui/ErrorNote.tsx";
import { Page } from "../ui/Page.tsx";
import { useTask } from "../ui/useTask.ts";
import { dot, similarities } from "./similarity.ts";

/** How similar texts are to a model, and which of them answer a question. */
export function EmbedPage(): ReactElement {
  const [written, setWritten] = useState<string>(text.embed.sample);
  const texts = written.split("\n").filter((line) => line.trim() !== "");
  return (
    <Page title={text.pages.embed} intro={text.embed.intro}>
      <Field label={text.embed.texts} hint={text.embed.textsHint}>
        <textarea className={inputClass} rows={6} value={written} onChange={({ target }) => setWritten(target.value)} />
      </Field>
      <Similarity texts={texts} />
      <Rerank texts={texts} />
    </Page>
  );
}

interface TextsProps {
  readonly texts: readonly string[];
}

function Similarity({ texts }: TextsProps): ReactElement {
  const { model } = useCurrentModel();
  const { start, result, error, isRunning } = useTask<{
    readonly texts: readonly string[];
    readonly rows: ReturnType<typeof similarities>;
  }>();
  const run = (): void =>
    start(async (signal) => {
      if (model === undefined) throw new Error(text.common.noModel);
      return { texts, rows: similarities(await model.embed(texts, { signal })) };
    });
  return (
    <Section title={text.embed.similarity}>
      <Button kind="primary" onClick={run} disabled={model === undefined || texts.length === 0 || isRunning}>
        {isRunning ? text.common.running : text.embed.compare}
      </Button>
      {error !== undefined && <ErrorNote error={error} />}
      {result !== undefined && (
        <Scroll label={text.embed.similarity}>
          <table className={`${tableClass} tabular-nums`}>
            <thead>
              <tr>
                <td />
                {result.texts.map((_line, index) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: two lines may be equal.
                  <th key={index} scope="col">
                    {index + 1}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {result.rows.map((row, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: two lines may be equal.
                <tr key={index}>
                  <th scope="row" className="max-w-60 truncate">
                    {index + 1} {result.texts[index]}
                  </th>
                  {row.map((cosine, column) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: a cell is known by its place.
                    <td key={column} style={{ backgroundColor: shadeOf(cosine) }}>
                      {cosine.toFixed(2)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </Section>
  );
}

function shadeOf(cosine: number): string {
  return `color-mix(in oklab, var(--accent-soft) ${Math.round(100 * Math.max(0, cosine))}%, var(--raised))`;
}

/** Texts by how well they answer a question. */
interface Ranked {
  readonly results: readonly { readonly text: string; readonly score: number }[];
  /** Whether a reranker gave the scores; otherwise they are similarities of embeddings. */
  readonly isReranked: boolean;
}

function Rerank({ texts }: TextsProps): ReactElement {
  const { model } = useCurrentModel();
  const [query, setQuery] = useState<string>(text.embed.sampleQuery);
  const { start, result, error, isRunning } = useTask<Ranked>();
  const run = (): void =>
    start(async (signal) => {
      if (model === undefined) throw new Error(text.common.noModel);
      return rank(model, query, texts, signal);
    });
  return (
    <Section title={text.embed.rerank}>
      <Field label={text.embed.query}>
        <input className={inputClass} value={query} onChange={({ target }) => setQuery(target.value)} />
      </Field>
      <Button kind="primary" onClick={run} disabled={model === undefined || texts.length === 0 || isRunning}>
        {isRunning ? text.common.running : text.embed.rank}
      </Button>
      {error !== undefined && <ErrorNote error={error} />}
      {result !== undefined && (
        <>
          {!result.isReranked && <p className="text-sm text-muted">{text.embed.noReranker}</p>}
          <ol className="space-y-1 text-sm" data-testid="ranking">
            {result.results.map(({ text: line, score }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: two lines may be equal.
              <li key={index} className="flex gap-3">
                <span className="w-14 shrink-0 text-muted tabular-nums">{score.toFixed(3)}</span>
                {line}
              </li>
            ))}
          </ol>
        </>
      )}
    </Section>
  );
}

/** Ranks texts by the model's own scores, or if it is no reranker, by the similarity of embeddings. */
async function rank(model: EngineModel, query: string, texts: readonly string[], signal: AbortSignal): Promise<Ranked> {
  try {
    const { results } = await model.rerank(query, texts, { signal });
    return { isReranked: true, results: results.map(({ index, score }) => ({ text: texts[index] ?? "", score })) };
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error;
  }
  const [question, ...vectors] = await model.embed([query, ...texts], { signal });
  const results = vectors.map((vector, index) => ({ text: texts[index] ?? "", score: question === undefined ? 0 : dot(question, vector) }));
  return { isReranked: false, results: results.sort((a, b) => b.score - a.score) };
}
