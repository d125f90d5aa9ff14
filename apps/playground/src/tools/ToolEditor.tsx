import type { ReactElement } from "react";
import { text } from "../text/english.ts";
import { Button, Field, inputClass } from "../ui/controls.tsx";
import type { ToolDefinition } from "./definitions.ts";

interface ToolEditorProps {
  readonly tool: ToolDefinition;
  readonly onChange: (tool: ToolDefinition) => void;
  readonly onRemove: () => void;
}

/** A function: its name, description, arguments and code. */
export function ToolEditor({ tool, onChange, onRemove }: ToolEditorProps): ReactElement {
  const change =
    (name: keyof ToolDefinition) =>
    ({ target }: { readonly target: { readonly value: string } }) =>
      onChange({ ...tool, [name]: target.value });
  return (
    <fieldset className="space-y-3 rounded-xl border border-line p-4">
      <legend className="px-1 font-mono text-sm">{tool.name}</legend>
      <Field label={text.tools.name}>
        <input className={`${inputClass} font-mono`} value={tool.name} onChange={change("name")} />
      </Field>
      <Field label={text.tools.description}>
        <input className={inputClass} value={tool.description} onChange={change("description")} />
      </Field>
      <Field label={text.tools.schema}>
        <textarea className={`${inputClass} font-mono`} rows={8} spellCheck={false} value={tool.schema} onChange={change("schema")} />
      </Field>
      <Field label={text.tools.code} hint={text.tools.codeHint}>
        <textarea className={`${inputClass} font-mono`} rows={6} spellCheck={false} value={tool.code} onChange={change("code")} />
      </Field>
      <Button kind="danger" onClick={onRemove} aria-label={text.tools.remove(tool.name)}>
        {text.common.delete}
      </Button>
    </fieldset>
  );
}
