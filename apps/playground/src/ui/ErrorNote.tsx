import type { ReactElement, ReactNode } from "react";

/** What went wrong. The engine's errors say what to do. */
export function ErrorNote({ error, children }: { readonly error: unknown; readonly children?: ReactNode }): ReactElement {
  const { code } = error as { readonly code?: unknown };
  return (
    <div role="alert" className="space-y-2 rounded-lg bg-danger-soft px-3 py-2 text-sm text-danger">
      <p className="break-words">{messageOf(error)}</p>
      {typeof code === "string" && <p className="font-mono text-xs">{code}</p>}
      {children}
    </div>
  );
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
