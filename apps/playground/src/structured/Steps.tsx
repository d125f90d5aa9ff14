import { type ReactElement, useState } from "react";
import { text } from "../text/english.ts";
import { Section } from "../ui/controls.tsx";
import { formatCount } from "../ui/format.ts";
import { Tokens, visible } from "../ui/Tokens.tsx";
import type { StructuredAnswer } from "./generateStructured.ts";

/** The tokens of an answer, and for the selected one what the schema allowed in its place. */
export function Steps({ tokens, allowed, logprobs }: Pick<StructuredAnswer, "tokens" | "allowed" | "logprobs">): ReactElement {
  const [selected, setSelected] = useState(0);
  const step = allowed[selected];
  const chance = logprobs[selected];
  return (
    <Section title={text.structured.steps}>
      <p className="text-sm text-muted">{text.structured.stepsHint}</p>
      <Tokens
        tokens={tokens}
        selected={selected}
        onSelect={setSelected}
        describe={(_, index) => text.structured.allowed(formatCount(allowed[index]?.count ?? 0))}
      />
      {step !== undefined && (
        <div className="space-y-2 rounded-lg border border-line p-3 text-sm" data-testid="allowed">
          <p>
            {text.structured.allowed(formatCount(step.count))}
            {chance !== undefined && ` · ${text.structured.chance((100 * Math.exp(chance.logprob)).toFixed(1))}`}
          </p>
          <p className="flex flex-wrap gap-1 font-mono text-xs">
            {step.examples.map((token) => (
              <span key={token.id} className="rounded bg-sunken px-1">
                {visible(token)}
              </span>
            ))}
            {step.count > step.examples.length && <span className="text-muted">…</span>}
          </p>
        </div>
      )}
    </Section>
  );
}
