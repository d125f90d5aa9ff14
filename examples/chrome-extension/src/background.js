// Opens the offscreen document, which holds the model: Chrome ends a service worker that is idle, and with it all that it has loaded.

let opening;

async function openDocument() {
  if (await chrome.offscreen.hasDocument()) return;
  await chrome.offscreen.createDocument({
    url: "offscreen.html",
    reasons: ["WORKERS"],
    justification: "A model generates text in a worker.",
  });
}

chrome.runtime.onMessage.addListener((message, _sender, respond) => {
  if (message !== "open") return false;
  // Two popups at once wait for one document.
  opening ??= openDocument().finally(() => {
    opening = undefined;
  });
  opening.then(
    () => respond({}),
    (error) => respond({ error: String(error) }),
  );
  return true;
});
