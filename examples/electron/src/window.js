const form = document.querySelector("form");
const status = document.querySelector("[role=status]");
const story = document.querySelector("article");

const port = await new Promise((resolve) => {
  addEventListener("message", ({ source, data, ports }) => {
    if (source === window && data === "engine") resolve(ports[0]);
  });
});
port.addEventListener("message", ({ data }) => {
  if (data.status !== undefined) status.textContent = data.status;
  if (data.text !== undefined) story.append(data.text);
});
port.start();

form.addEventListener("submit", (event) => {
  event.preventDefault();
  story.textContent = "";
  port.postMessage({ topic: new FormData(form).get("topic") });
});
