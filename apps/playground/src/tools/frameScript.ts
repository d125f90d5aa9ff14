/**
 * The script of the frame in which tools run. For each call it starts a worker, which has no network and no storage: the frame's policy is
 * the worker's, and its origin is none. A worker that computes for too long is ended. Its script is in its URL, because WebKit starts no
 * worker from a blob in such a frame of a page that is cross-origin isolated.
 */
export const frameScript = `
addEventListener("message", ({ data: { code, input, timeoutMs }, ports: [port] }) => {
  const script = code + "\\n;onmessage = async ({ data }) => { try { const result = await run(data); postMessage({ result: result === undefined ? null : JSON.parse(JSON.stringify(result)) }); } catch (error) { postMessage({ error: String(error) }); } };";
  const worker = new Worker("data:text/javascript," + encodeURIComponent(script));
  const end = (answer) => { clearTimeout(timer); worker.terminate(); port.postMessage(answer); };
  const timer = setTimeout(() => end({ error: "it ran for more than " + timeoutMs + " ms" }), timeoutMs);
  worker.onmessage = ({ data }) => end(data);
  worker.onerror = (event) => end({ error: event.message || "the code is no JavaScript" });
  worker.postMessage(input);
});
parent.postMessage("ready", "*");
`;
