import { mount } from "svelte";
import StoryTeller from "./StoryTeller.svelte";

mount(StoryTeller, { target: document.querySelector("#app")! });
