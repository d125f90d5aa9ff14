import { createApp } from "vue";
import StoryTeller from "./StoryTeller.vue";

createApp(StoryTeller).mount("#app");
