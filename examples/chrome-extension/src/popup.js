const form = document.querySelector("form");
const status = document.querySelector("[role=status]");
const story = document.querySelector("article");
const connected = connect();

async function connect() {
  const { error } = await chrome.runtime.sendMessage("open");
  if (error !== undefined) status.textContent = error;
  const port = chrome.runtime.connect();
  port.onMessage.addListener((message) => {
    if (message.status !== undefined) status.textContent = message.status;
    if (message.text !== undefined) story.append(message.text);
  });
  return port;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  story.textContent = "";
  const port = await connected;
  port.postMessage({ topic: new FormData(form).get("topic") });
});
