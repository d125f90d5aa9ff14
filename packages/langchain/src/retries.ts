/** Lets LangChain try calls again that found a full queue. The engine's other errors, and signals, would come again. @throws the error */
export function retryIfBusy(error: unknown): void {
  if (!(error instanceof Error && "code" in error && error.code === "busy")) throw error;
}
