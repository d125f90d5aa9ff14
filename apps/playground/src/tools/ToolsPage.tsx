import { type ReactElement, useEffect, useState } from "react";
import { useCurrentModel } from "../model/ModelProvider.tsx";
import { text } from "../text/english.ts";
import { Button, Field, inputClass, Section } from "../ui/controls.tsx";
import { ErrorNote } from "../ui/ErrorNote.tsx";
import { Page } from "../ui/Page.tsx";
import { useTask } from "../ui/useTask.ts";
import { examples, type ToolDefinition } from "./definitions.ts";
import { type Event, runTools } from "./runTools.ts";
import { Sandbox } from "./sandbox.ts";
import { ToolEditor } from "./ToolEditor.tsx";

/** Functions that the user writes and the model calls. */
export function ToolsPage(): ReactElement {
  const { model } = useCurrentModel();
  const sandbox = useSandbox();
  const [definitions, setDefinitions] = useState(examples);
  const [prompt, setPrompt] = useState<string>(text.tools.firstPrompt);
  const [choice, setChoice] = useState<"auto" | "required">("required");
  const { start, stop, result: events = [], error, isRunning } = useTask<readonly Event[]>();
  const run = (): void =>
    start(async (signal, show) => {
      if (model === undefined || sandbox === undefined) throw new Error(text.common.noModel);
      return runTools({ model, sandbox, definitions, prompt, choice, signal }, show);
    });
  const change = (index: number, next?: ToolDefinition): void =>
    setDefinitions(definitions.toSpliced(index, 1, ...(next === undefined ? [] : [next])));
  return (
    <Page title={text.pages.tools} intro={text.tools.intro}>
      <div className="grid gap-6 lg:grid-cols-2">
        <div className="space-y-4">
          {definitions.map((tool, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a tool is known by its place, because its name is being written.
            <ToolEditor key={index} tool={tool} onChange={(next) => change(index, next)} onRemove={() => change(index)} />
          ))}
          <Button
            onClick={() =>
              setDefinitions([
                ...definitions,
                {
                  name: `tool_${definitions.length + 1}`,
                  description: "",
                  schema: "{}",
                  code: "function run(input) {\n  return input;\n}",
                },
              ])
            }
          >
            {text.tools.add}
          </Button>
        </div>
        <div className="min-w-0 space-y-4">
          <Field label={text.tools.prompt}>
            <textarea className={inputClass} rows={3} value={prompt} onChange={({ target }) => setPrompt(target.value)} />
          </Field>
          <Field label={text.tools.choice} hint={text.tools.choiceHint}>
            <select
              className={inputClass}
              value={choice}
              onChange={({ target }) => setChoice(target.value === "auto" ? "auto" : "required")}
            >
              <option value="auto">{text.tools.auto}</option>
              <option value="required">{text.tools.required}</option>
            </select>
          </Field>
          {isRunning ? (
            <Button onClick={stop}>{text.common.stop}</Button>
          ) : (
            <Button kind="primary" onClick={run} disabled={model === undefined || definitions.length === 0}>
              {text.common.run}
            </Button>
          )}
          {error !== undefined && <ErrorNote error={error} />}
          <div role="log" aria-label={text.tools.log} className="space-y-4">
            {events.map((event, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: events are only appended.
              <EventCard key={index} event={event} />
            ))}
          </div>
        </div>
      </div>
    </Page>
  );
}

function useSandbox(): Sandbox | undefined {
  const [sandbox, setSandbox] = useState<Sandbox>();
  useEffect(() => {
    const opened = new Sandbox();
    setSandbox(opened);
    return () => opened.dispose();
  }, []);
  return sandbox;
}

function EventCard({ event }: { readonly event: Event }): ReactElement {
  if (event.type === "text") return <p className="whitespace-pre-wrap">{event.text}</p>;
  const { name, input, result, isError } = event;
  return (
    <Section title={text.tools.call(name)}>
      <pre className="rounded-lg bg-sunken p-3 text-sm whitespace-pre-wrap wrap-anywhere">{input}</pre>
      {result !== undefined && (
        <pre
          data-testid="tool-result"
          className={`rounded-lg p-3 text-sm whitespace-pre-wrap wrap-anywhere ${isError === true ? "bg-danger-soft text-danger" : "bg-accent-soft"}`}
        >
          {result}
        </pre>
      )}
    </Section>
  );
}
