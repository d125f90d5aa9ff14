// A worker that crashes when it has as many requests as it takes, and has answered none.
import { concurrency, work } from "../queueWorker.ts";

let taken = 0;
work({
  fetch: () => {
    if (++taken === concurrency) process.kill(process.pid, "SIGKILL");
    return new Promise(() => undefined);
  },
});
