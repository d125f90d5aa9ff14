import { type ReactElement, useEffect } from "react";
import { text } from "../text/english.ts";
import { buttonClass, Scroll, Section, tableClass } from "../ui/controls.tsx";
import { Page } from "../ui/Page.tsx";
import { useTask } from "../ui/useTask.ts";
import { type Capability, capabilities, type GpuFact, gpuFacts } from "./capabilities.ts";

/** What the browser offers, and what follows from it for models. */
export function AboutPage(): ReactElement {
  const { start, result } = useTask<readonly [readonly Capability[], readonly GpuFact[] | undefined]>();
  useEffect(() => start(() => Promise.all([capabilities(), gpuFacts()])), [start]);
  const [offered, gpu] = result ?? [];
  return (
    <Page title={text.pages.about} intro={text.about.intro}>
      <Section title={text.about.privacyTitle}>
        <p className="max-w-prose text-sm">{text.about.privacy}</p>
      </Section>
      {offered !== undefined && <Capabilities offered={offered} />}
      {gpu !== undefined && <Gpu facts={gpu} />}
    </Page>
  );
}

function Capabilities({ offered }: { readonly offered: readonly Capability[] }): ReactElement {
  const needsReload = !globalThis.crossOriginIsolated && navigator.serviceWorker?.controller != null;
  return (
    <Section title={text.about.browser}>
      <Scroll label={text.about.browser}>
        <table className={tableClass}>
          <tbody>
            {offered.map(({ name, value, isGood, consequence }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td className={isGood ? "text-accent" : "text-danger"}>{value}</td>
                <td className="text-muted sm:min-w-60">{consequence}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {needsReload && (
        <p className="text-sm">
          {text.model.moreThreads}{" "}
          <button type="button" className={buttonClass()} onClick={() => location.reload()}>
            {text.model.reload}
          </button>
        </p>
      )}
    </Section>
  );
}

function Gpu({ facts }: { readonly facts: readonly GpuFact[] }): ReactElement {
  return (
    <Section title={text.about.gpu.title}>
      <dl className="grid gap-x-6 gap-y-1 text-sm sm:grid-cols-[auto_1fr]">
        {facts.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-muted">{name}</dt>
            <dd className="break-words">{value}</dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}
