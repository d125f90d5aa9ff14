import { check, isRecord, type Kind, kind } from "@centella/quant/checks";
import type { Cost } from "../program/op.ts";
import { type Candidate, judge, orLastResort, type Policy, type SelectionRequest, type Verdict } from "./select.ts";
import { textTable } from "./textTable.ts";

/** Where a call would run and why: plain data. */
export interface Explanation {
  /** The op's name, or "program". */
  readonly what: string;
  readonly cost: Cost;
  /** The first backend that takes it; undefined where none does. */
  readonly backend: string | undefined;
  /** Every backend's verdict in order of preference, also of those after the chosen one. */
  readonly verdicts: readonly Verdict[];
}

/** Asks every candidate about a request. Pure. */
export function explainRequest(request: SelectionRequest, candidates: readonly Candidate[], policy: Policy): Explanation {
  const verdicts = orLastResort(candidates.map((candidate) => judge(request, candidate, policy)));
  return { what: request.what, cost: request.cost, backend: verdicts.find(({ takes }) => takes)?.backend, verdicts };
}

const explanationKind: Kind = kind(
  "what runtime.explain() returns",
  (value) => isRecord(value) && isRecord(value.cost) && Array.isArray(value.verdicts),
);

/** Formats an explanation as text for a terminal. */
export function formatExplanation(explanation: Explanation): string {
  const { what, cost, backend, verdicts } = check("formatExplanation", "explanation", explanation, explanationKind);
  const answer = ({ backend: name, takes }: Verdict): string => (name === backend ? "chosen" : takes ? "could" : "no");
  const rows = [
    ["backend", "", "reason"],
    ...verdicts.map((verdict) => [
      verdict.backend,
      answer(verdict),
      verdict.op === undefined ? verdict.reason : `${verdict.op}: ${verdict.reason}`,
    ]),
  ];
  const count = (value: number): string => value.toLocaleString("en", { maximumFractionDigits: 0 });
  return `${what}: ${count(cost.flops)} flops, ${count(cost.bytes)} bytes\n${textTable(rows)}\n`;
}
