import type { PageProject } from "./pageProject.ts";
import { measureTask, openProjects, type PageSampling, type PeerUrls } from "./projects.ts";
import type { BrowserTask } from "./tasks.ts";

let opened: readonly PageProject[] = [];

Object.assign(globalThis, {
  async openProjects(names: readonly string[], urls: PeerUrls) {
    const { projects, missing } = await openProjects(names, urls);
    opened = projects;
    return missing;
  },
  measureTask: (task: BrowserTask, sampling: PageSampling) => measureTask(opened, task, sampling),
});
