import { type ReactElement, useEffect, useState } from "react";
import { useCurrentModel } from "../model/ModelProvider.tsx";
import { text } from "../text/english.ts";
import { CopyButton } from "../ui/CopyButton.tsx";
import { Button, Field, inputClass, Scroll, Section, tableClass } from "../ui/controls.tsx";
import { ErrorNote } from "../ui/ErrorNote.tsx";
import { Page } from "../ui/Page.tsx";
import { useTask } from "../ui/useTask.ts";
import { type GpuKind, gpuKind } from "../workers/gpu.ts";
import { type BenchProgress, markdownOf, runBench } from "./runBench.ts";

/** The speed of the model and of kernels on each backend. */
export function BenchPage(): ReactElement {
  const { source, model } = useCurrentModel();
  const gpu = useTask<GpuKind>();
  const { start, stop, result, error, isRunning } = useTask<BenchProgress>();
  const [chosen, setChosen] = useState<readonly string[]>();
  const [tests, setTests] = useState({ promptTokens: 128, generatedTokens: 32, repetitions: 3 });
  const { start: findGpu } = gpu;
  useEffect(() => findGpu(gpuKind), [findGpu]);
  // An emulated GPU takes minutes: only on request.
  const backends = chosen ?? (gpu.result === "real" ? ["wasm", "webgpu"] : ["wasm"]);
  const toggle = (name: string): void =>
    setChosen(backends.includes(name) ? backends.filter((other) => other !== name) : [...backends, name]);
  const run = (): void => start((signal, show) => runBench({ ...tests, backends, source }, signal, show));
  return (
    <Page title={text.pages.bench} intro={text.bench.intro}>
      <div className="grid max-w-2xl gap-4 sm:grid-cols-3">
        {(["promptTokens", "generatedTokens", "repetitions"] as const).map((name) => (
          <Field key={name} label={text.bench[name]}>
            <input
              type="number"
              className={inputClass}
              min={1}
              max={4096}
              value={tests[name]}
              onChange={({ target }) => setTests({ ...tests, [name]: Math.max(1, target.valueAsNumber || 1) })}
            />
          </Field>
        ))}
      </div>
      <fieldset className="space-y-1 text-sm">
        <legend className="font-medium">{text.bench.backends}</legend>
        {["wasm", ...(gpu.result === undefined || gpu.result === "none" ? [] : ["webgpu"])].map((name) => (
          <label key={name} className="flex items-center gap-2">
            <input type="checkbox" checked={backends.includes(name)} onChange={() => toggle(name)} />
            {name}
            {name === "webgpu" && gpu.result === "emulated" && <span className="text-muted">({text.bench.software})</span>}
          </label>
        ))}
      </fieldset>
      <p className="text-sm text-muted">{text.bench.busy}</p>
      {isRunning ? (
        <Button onClick={stop}>{text.common.stop}</Button>
      ) : (
        <Button kind="primary" onClick={run} disabled={model === undefined || backends.length === 0}>
          {text.bench.run}
        </Button>
      )}
      {error !== undefined && <ErrorNote error={error} />}
      {result !== undefined && <Results progress={result} isRunning={isRunning} />}
    </Page>
  );
}

function Results({ progress, isRunning }: { readonly progress: BenchProgress; readonly isRunning: boolean }): ReactElement {
  const { results, now, failures } = progress;
  return (
    <Section title={text.bench.results}>
      {isRunning && now !== undefined && (
        <p role="status" className="text-sm text-muted">
          {text.bench.measuring(now)}
        </p>
      )}
      <Scroll label={text.bench.results}>
        <table className={tableClass}>
          <thead>
            <tr>
              <th scope="col">{text.bench.backend}</th>
              <th scope="col">{text.bench.device}</th>
              <th scope="col">{text.bench.test}</th>
              <th scope="col">{text.bench.result}</th>
            </tr>
          </thead>
          <tbody>
            {results.map(({ backend, device, test, result }) => (
              <tr key={`${backend} ${test}`}>
                <td>{backend}</td>
                <td>{device}</td>
                <td>{test}</td>
                <td className="whitespace-nowrap tabular-nums">{result}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {failures.map(({ backend, error }) => (
        <ErrorNote key={backend} error={error} />
      ))}
      {!isRunning && results.length > 0 && <CopyButton label={text.bench.copy} content={() => markdownOf(results)} />}
    </Section>
  );
}
