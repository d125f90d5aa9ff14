import { useCallback, useEffect, useRef, useState } from "react";

/** Work that a user starts: its result, its error, and whether it runs. */
export interface Task<Result> {
  readonly isRunning: boolean;
  readonly result: Result | undefined;
  readonly error: unknown;
  /** Starts the work; what ran before ends. */
  readonly start: (work: (signal: AbortSignal, show: (result: Result) => void) => Promise<Result>) => void;
  readonly stop: () => void;
}

/** Runs one piece of work at a time. It ends when the component is unmounted. */
export function useTask<Result>(): Task<Result> {
  const [state, setState] = useState<Omit<Task<Result>, "start" | "stop">>({ isRunning: false, result: undefined, error: undefined });
  const running = useRef<AbortController>(undefined);
  const stop = useCallback(() => {
    running.current?.abort();
    running.current = undefined;
    setState((before) => ({ ...before, isRunning: false }));
  }, []);
  const start = useCallback<Task<Result>["start"]>((work) => {
    running.current?.abort();
    const own = new AbortController();
    running.current = own;
    const show = (changes: Partial<Omit<Task<Result>, "start" | "stop">>): void => {
      if (running.current === own) setState((before) => ({ ...before, ...changes }));
    };
    setState({ isRunning: true, result: undefined, error: undefined });
    work(own.signal, (result) => show({ result })).then(
      (result) => show({ result, isRunning: false }),
      (error: unknown) => show({ error, isRunning: false }),
    );
  }, []);
  useEffect(() => () => running.current?.abort(), []);
  return { ...state, start, stop };
}
