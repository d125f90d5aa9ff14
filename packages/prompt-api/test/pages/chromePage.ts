/// <reference types="dom-chromium-ai" />

/** A page written for Chrome: it uses the global alone, with Chrome's types. Returns the texts that it would show. */
export async function chat(): Promise<readonly string[]> {
  const shown: string[] = [];
  const expectedOutputs: LanguageModelExpected[] = [{ type: "text", languages: ["en"] }];
  const availability = await LanguageModel.availability({ expectedOutputs });
  if (availability === "unavailable") return ["There is no model."];
  const session = await LanguageModel.create({
    expectedOutputs,
    initialPrompts: [
      { role: "system", content: "You tell stories." },
      { role: "user", content: "Which animal do you like?" },
      { role: "assistant", content: "The fox." },
    ],
    monitor(monitor) {
      monitor.addEventListener("downloadprogress", (event) => {
        if (event.loaded === 1) shown.push(`${availability}, loaded`);
      });
    },
  });
  session.addEventListener("contextoverflow", () => shown.push("The story is getting long."));
  let text = "";
  for await (const chunk of session.promptStreaming("Tell me a story.")) text += chunk;
  shown.push(text);
  const branch = await session.clone();
  const reply = await branch.prompt("Is it a true story?", {
    responseConstraint: { enum: ["yes", "no"] },
    signal: AbortSignal.timeout(60_000),
  });
  shown.push(JSON.parse(reply));
  shown.push(session.contextUsage < session.contextWindow && branch.contextUsage > session.contextUsage ? "There is room." : "It is full.");
  session.destroy();
  try {
    await session.prompt("More!");
  } catch (error) {
    shown.push((error as DOMException).name);
  }
  return shown;
}
