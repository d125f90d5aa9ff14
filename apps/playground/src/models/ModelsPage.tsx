import { type ReactElement, useState } from "react";
import { useCurrentModel } from "../model/ModelProvider.tsx";
import { StoredModels } from "../model/StoredModels.tsx";
import type { ModelSource } from "../model/source.ts";
import { text } from "../text/english.ts";
import { Button, Field, Section } from "../ui/controls.tsx";
import { Page } from "../ui/Page.tsx";
import { Inspector } from "./Inspector.tsx";
import { Quota } from "./Quota.tsx";

/** The files that this browser stores, and what is in them. */
export function ModelsPage(): ReactElement {
  const { source, choose } = useCurrentModel();
  const [inspected, setInspected] = useState<ModelSource>();
  return (
    <Page title={text.pages.models} intro={text.models.intro}>
      <Quota />
      <StoredModels onChoose={(stored) => void choose(stored)} onInspect={setInspected} />
      <Section title={text.models.inspect}>
        <div className="flex flex-wrap items-end gap-4">
          <Button onClick={() => setInspected(source)}>{text.models.inspectCurrent}</Button>
          <Field label={text.models.inspectFile}>
            <input type="file" accept=".gguf" className="text-xs" onChange={({ target }) => setInspected(target.files?.[0])} />
          </Field>
        </div>
        {inspected !== undefined && <Inspector key={typeof inspected === "string" ? inspected : inspected.name} source={inspected} />}
      </Section>
    </Page>
  );
}
