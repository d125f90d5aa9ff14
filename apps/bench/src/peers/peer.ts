import type { ModelCompetitor } from "../models/competitor.ts";
import type { Competitor } from "../tasks/competitor.ts";

/** Another project, loaded. */
export interface Peer {
  readonly version: string;
  /** Takes part in tasks. */
  readonly competitor?: Competitor;
  /** Runs GGUF models. */
  readonly model?: ModelCompetitor;
  dispose(): Promise<void> | void;
}

/** How another project is loaded; one file per peer. */
export interface PeerAdapter {
  readonly name: string;
  readonly kind: "cpu" | "gpu";
  /** @throws {Skip} with the reason where it is not installed or does not run here */
  open(options: { readonly threads: number }): Promise<Peer>;
}
