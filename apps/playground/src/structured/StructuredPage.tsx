import { type ReactElement, useState } from "react";
import { useCurrentModel } from "../model/ModelProvider.tsx";
import { useVocabulary } from "../model/useVocabulary.ts";
import { text } from "../text/english.ts";
import { Button, Field, inputClass, Section } from "../ui/controls.tsx";
import { ErrorNote } from "../ui/ErrorNote.tsx";
import { Page } from "../ui/Page.tsx";
import { useTask } from "../ui/useTask.ts";
import { generateStructured, type StructuredAnswer } from "./generateStructured.ts";
import { presets } from "./presets.ts";
import { Steps } from "./Steps.tsx";

const printed = (value: unknown): string => JSON.stringify(value, null, 2);
const [firstPreset] = presets;

/** Answers that a JSON Schema enforces: the value while it grows, and the tokens that were allowed. */
export function StructuredPage(): ReactElement {
  const { model } = useCurrentModel();
  const { vocabulary, error: vocabularyError } = useVocabulary();
  const [prompt, setPrompt] = useState(firstPreset?.prompt ?? "");
  const [schema, setSchema] = useState(printed(firstPreset?.schema));
  const { start, stop, result, error = vocabularyError, isRunning } = useTask<StructuredAnswer>();
  const run = (): void =>
    start(async (signal, show) => {
      if (model === undefined || vocabulary === undefined) throw new Error(text.common.noModel);
      return generateStructured({ model, vocabulary, prompt, schema: JSON.parse(schema), signal }, show);
    });
  return (
    <Page title={text.pages.structured} intro={text.structured.intro}>
      <div className="grid gap-6 lg:grid-cols-2">
        <div className="space-y-4">
          <div className="flex flex-wrap items-center gap-2 text-sm">
            {text.structured.presets}
            {presets.map((preset) => (
              <Button
                key={preset.name}
                onClick={() => {
                  setPrompt(preset.prompt);
                  setSchema(printed(preset.schema));
                }}
              >
                {preset.name}
              </Button>
            ))}
          </div>
          <Field label={text.structured.prompt}>
            <input className={inputClass} value={prompt} onChange={({ target }) => setPrompt(target.value)} />
          </Field>
          <Field label={text.structured.schema}>
            <textarea
              className={`${inputClass} font-mono`}
              rows={16}
              spellCheck={false}
              value={schema}
              onChange={({ target }) => setSchema(target.value)}
            />
          </Field>
          {isRunning ? (
            <Button onClick={stop}>{text.common.stop}</Button>
          ) : (
            <Button kind="primary" onClick={run} disabled={vocabulary === undefined}>
              {text.structured.run}
            </Button>
          )}
        </div>
        <div className="min-w-0 space-y-6">
          {error !== undefined && <ErrorNote error={error} />}
          {result !== undefined && <Answer answer={result} isRunning={isRunning} />}
        </div>
      </div>
    </Page>
  );
}

function Answer({ answer, isRunning }: { readonly answer: StructuredAnswer; readonly isRunning: boolean }): ReactElement {
  const { value, finish, tokens, allowed, logprobs } = answer;
  return (
    <>
      <Section title={text.structured.value}>
        <output className="block rounded-lg bg-sunken p-3 font-mono text-sm whitespace-pre-wrap wrap-anywhere" data-testid="value">
          {value === undefined ? answer.text : printed(value)}
        </output>
        <p className="text-sm text-muted">
          {isRunning ? text.common.running : finish?.complete === true ? text.structured.complete : text.structured.cutShort}
        </p>
        {finish?.warnings?.map((warning) => (
          <p key={warning} className="text-sm text-muted">
            {warning}
          </p>
        ))}
      </Section>
      {tokens.length > 0 && <Steps tokens={tokens} allowed={allowed} logprobs={logprobs} />}
    </>
  );
}
