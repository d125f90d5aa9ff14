import type { Backend } from "../backend/backend.ts";
import { CentellaError, DeviceLostError, NotLoadedError } from "../errors.ts";
import type { Tensor } from "../tensor.ts";
import type { CallLog, Tally } from "./callLog.ts";
import type { RuntimePolicy } from "./runtimeOptions.ts";
import type { Candidate, Selection } from "./select.ts";

/** The backend chosen for a request. Choices are kept, so that repeated requests do not ask the backends again. */
export interface Choice {
  readonly selection: Selection;
  readonly tally: Tally;
  /** Key of the plan that serves the request. It is built once, because engines look up a known string faster. */
  readonly planKey: string;
}

/** A request for computation. Requests with equal `key` share a choice; on one backend, requests with equal `planKey` share a plan. */
export interface Request {
  readonly key: string;
  readonly planKey: string;
  /** Name for the report. */
  readonly op: string;
  readonly selectAmong: (candidates: readonly Candidate[]) => Selection;
}

/** A choice and the candidates that it was made among. */
interface Attempt {
  readonly candidates: readonly Candidate[];
  readonly choice: Choice;
}

/** Maximum number of choices that are kept. */
const maxChoices = 10_000;

/**
 * Runs requests on the backends that are selected for them and applies the fallback rule: an error is raised, unless the policy says "retry"
 * and another backend can run the request. A backend whose code cannot be loaded is passed over under any policy, like one that cannot be
 * opened.
 */
export class Fallback {
  /** All candidates, with lost backends marked as unavailable. */
  eligible: readonly Candidate[];
  readonly #policy: RuntimePolicy;
  readonly #log: CallLog;
  readonly #choices = new Map<string, Choice>();

  constructor(candidates: readonly Candidate[], policy: RuntimePolicy, log: CallLog) {
    this.eligible = candidates;
    this.#policy = policy;
    this.#log = log;
  }

  async run(request: Request, run: (choice: Choice) => Promise<Tensor>): Promise<Tensor> {
    for (let attempt = this.#first(request); ; ) {
      try {
        return await run(attempt.choice);
      } catch (error) {
        attempt = this.#next(request, attempt, error);
      }
    }
  }

  /** {@link run} without waiting. */
  runSync(request: Request, run: (choice: Choice) => Tensor): Tensor {
    for (let attempt = this.#first(request); ; ) {
      try {
        return run(attempt.choice);
      } catch (error) {
        attempt = this.#next(request, attempt, error);
      }
    }
  }

  /** Drops all choices. */
  forget(): void {
    this.#choices.clear();
  }

  #first(request: Request): Attempt {
    const candidates = this.eligible;
    return { candidates, choice: this.#choice(request, candidates) };
  }

  #choice(request: Request, candidates: readonly Candidate[]): Choice {
    const { key } = request;
    let choice = this.#choices.get(key);
    if (choice === undefined) {
      choice = this.#choiceOf(request, request.selectAmong(candidates));
      if (this.#choices.size >= maxChoices) this.#choices.clear();
      this.#choices.set(key, choice);
    }
    return choice;
  }

  #choiceOf({ op, planKey }: Request, selection: Selection): Choice {
    return { selection, tally: this.#log.tallyOf(op, selection), planKey: `${selection.backend.name} ${planKey}` };
  }

  /** The attempt after a failed one. @throws the failure if no backend is left, or the policy forbids another attempt */
  #next(request: Request, { candidates: before, choice }: Attempt, error: unknown): Attempt {
    choice.tally.failed++;
    const isRetried = this.#policy.fallback === "retry" && error instanceof CentellaError;
    if (!isRetried && !(error instanceof NotLoadedError)) throw error;
    const { backend } = choice.selection;
    if (error instanceof DeviceLostError) this.#leaveOut(backend, error);
    const candidates = withoutBackend(before, backend, error instanceof NotLoadedError ? error.reason : `it failed: ${error.message}`);
    let selection: Selection;
    try {
      selection = request.selectAmong(candidates);
    } catch {
      throw error;
    }
    return { candidates, choice: this.#choiceOf(request, selection) };
  }

  #leaveOut(backend: Backend, { message }: DeviceLostError): void {
    this.eligible = withoutBackend(this.eligible, backend, message);
    this.#choices.clear();
  }
}

/** Candidates with one backend marked as unavailable. */
export function withoutBackend(candidates: readonly Candidate[], backend: Backend, unavailable: string): readonly Candidate[] {
  return candidates.map((candidate) => (candidate.backend === backend ? { name: candidate.name, unavailable } : candidate));
}
