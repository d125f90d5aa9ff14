import type { ReactElement } from "react";
import { setParams, useRoute } from "../app/route.ts";
import { useCurrentModel } from "../model/ModelProvider.tsx";
import { text } from "../text/english.ts";
import { CopyButton } from "../ui/CopyButton.tsx";
import { Button, Field, inputClass } from "../ui/controls.tsx";
import type { BackendChoice } from "../workers/backends.ts";
import { type NumericOption, numericOptions, optionNames, type TextOption, textOptions } from "./settings.ts";

/** How answers are written. The address has every setting, so that a link repeats them. */
export function SettingsPanel(): ReactElement {
  const { params } = useRoute();
  const { backendChoice, chooseBackend } = useCurrentModel();
  const reset = (): void => setParams(Object.fromEntries(["system", ...optionNames].map((name) => [name, undefined])));
  return (
    <section className="space-y-3">
      <h2 className="text-sm font-semibold">{text.chat.settings}</h2>
      <Field label={text.chat.system} hint={text.chat.systemHint}>
        <textarea
          className={inputClass}
          rows={3}
          value={params.get("system") ?? ""}
          onChange={({ target }) => setParams({ system: target.value })}
        />
      </Field>
      <Field label={text.model.backend}>
        <select className={inputClass} value={backendChoice} onChange={({ target }) => chooseBackend(target.value as BackendChoice)}>
          {Object.entries(text.model.backends).map(([name, label]) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
      </Field>
      <details open={optionNames.some((name) => params.has(name))}>
        <summary className="text-sm font-medium">{text.chat.sampling}</summary>
        <p className="my-2 text-xs text-muted">{text.chat.samplingHint}</p>
        <div className="grid grid-cols-2 gap-3">
          {numericOptions.map((option) => (
            <NumberField key={option.name} option={option} />
          ))}
        </div>
        <div className="mt-3 space-y-3">
          {textOptions.map((option) => (
            <TextField key={option.name} option={option} />
          ))}
        </div>
      </details>
      <div className="flex flex-wrap gap-2">
        <CopyButton label={text.chat.copyLink} content={linkToSettings} />
        <Button kind="quiet" onClick={reset}>
          {text.chat.reset}
        </Button>
      </div>
    </section>
  );
}

/** The address without the conversation, which only this browser has. */
function linkToSettings(): string {
  return location.href.replace(/([?&])conversation=[^&]*&?/, "$1").replace(/[?&]$/, "");
}

/** What the model takes for an option if the address gives none. */
function useOwnValue(name: string): unknown {
  const { model } = useCurrentModel();
  return (model?.info.sampling as Readonly<Record<string, unknown>> | undefined)?.[name];
}

function NumberField({ option: { name, fallback, ...range } }: { readonly option: NumericOption }): ReactElement {
  const { params } = useRoute();
  const own = useOwnValue(name) ?? fallback;
  return (
    <Field label={text.options[name]}>
      <input
        type="number"
        className={inputClass}
        value={params.get(name) ?? ""}
        placeholder={own === undefined ? "" : String(own)}
        onChange={({ target }) => setParams({ [name]: target.value })}
        {...range}
      />
    </Field>
  );
}

function TextField({ option: { name, hasLines, fallback = "" } }: { readonly option: TextOption }): ReactElement {
  const { params } = useRoute();
  const own = useOwnValue(name);
  return (
    <Field label={text.options[name]} hint={text.optionHints[name]}>
      <textarea
        className={inputClass}
        rows={hasLines ? 2 : 3}
        value={params.get(name) ?? ""}
        placeholder={Array.isArray(own) ? own.join(" ") : fallback}
        onChange={({ target }) => setParams({ [name]: target.value })}
      />
    </Field>
  );
}
