import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { loadConfig } from "../../src/config/load-config.ts";
import type { ConfigError } from "../../src/config/shape/problem-list.ts";
import { variables } from "../../src/config/variables.ts";
import { defaultDeliverySettings } from "../../src/core/delivery-settings.ts";
import { expectWords } from "../support/expect-words.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { codeBlocks, documentPaths, readText, root } from "./documents.ts";

const shutdownS = defaultDeliverySettings().shutdownMs / 1000;
const drainS = loadConfig({ env: {}, cwd: root, readFile: () => undefined }).server.drainMs / 1000;
/** From what the supervisor of the image gives a relay above that, until it kills it. */
const reserveS = 10;
const strong = "kS93jdLwm2PzQe81kS93jdLwm2PzQe81";
const secrets = { WEBHOOK_SECRET: strong, ADMIN_TOKEN: `${strong}-too` };
const numberIn = (pattern: RegExp, path: string) => Number(pattern.exec(readText(path))?.[1]);

test.each([
  ["Fly", /kill_timeout = (\d+)/, "fly.toml", 1],
  ["systemd", /^TimeoutStopSec=(\d+)/m, "deploy/tocsin.service", 1],
  ["docker run", /docker run .*--stop-timeout (\d+)/, "docs/deploy.md", 1],
  ["docker compose", /stop_grace_period: (\d+)s/, "deploy/compose.yaml", 1],
  ["supervisord", /^stopwaitsecs=(\d+)$/m, "deploy/supervisord.conf", 1],
  ["runit", /sv -w (\d+) stop/, "deploy/runit-run", 1],
  ["pm2", /kill_timeout: ([\d_]+)/, "deploy/pm2.config.cjs", 1_000],
] as const)("%s gives a relay the time that a stop takes", (_who, pattern, path, unitsInSecond) => {
  const given = Number(pattern.exec(readText(path))?.[1]?.replaceAll("_", "")) / unitsInSecond;
  expect(given).toBeGreaterThanOrEqual(drainS + shutdownS + reserveS);
});

describe("fly.toml", () => {
  /** `section.key` → its value as written. */
  const settings = new Map<string, string>();
  let section = "";
  for (const line of readText("fly.toml").split("\n")) {
    section = /^\[+([\w.]+)\]+$/.exec(line)?.[1] ?? section;
    const [, key, value] = /^(\w+) = (.+)$/.exec(line) ?? [];
    if (key !== undefined && value !== undefined) settings.set(section === "" ? key : `${section}.${key}`, value);
  }

  test("keeps one machine awake and behind TLS, with its data on the volume", () => {
    expect(Object.fromEntries(settings)).toMatchObject({
      kill_signal: '"SIGTERM"',
      "http_service.auto_stop_machines": '"off"',
      "http_service.min_machines_running": "1",
      "http_service.force_https": "true",
      "http_service.checks.path": '"/healthz"',
      "env.HOST": '"0.0.0.0"',
      "restart.policy": '"always"',
      "deploy.strategy": '"rolling"',
      "mounts.destination": '"/data"',
      "env.DATA_DIR": '"/data"',
      "env.PORT": `"${settings.get("http_service.internal_port")}"`,
    });
    for (const name of ["threshold", "increment", "limit"])
      expect(settings.has(`mounts.auto_extend_size_${name}`)).toBe(true);
    expect(
      [...settings.keys()].filter((name) => name.includes("release_command")),
      "it has no volume",
    ).toEqual([]);
    expect(Number(settings.get("mounts.snapshot_retention"))).toBeGreaterThan(5);
  });
});

describe("the Dockerfile", () => {
  const dockerfile = readText("Dockerfile").replace(/\\\n/g, " ");
  const lines = dockerfile.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

  test("starts Tocsin itself with no npm and no shell between that would keep signals from it, open to others", () => {
    expect(lines.slice(-2)).toEqual(['ENTRYPOINT ["tocsin"]', 'CMD ["serve", "--supervised"]']);
    expectWords(dockerfile, [/ln -s \/app\/deploy\/container\.sh \/usr\/local\/bin\/tocsin/, /^STOPSIGNAL SIGTERM$/m]);
    expectWords(dockerfile, [/^VOLUME \/data$/m, /^HEALTHCHECK .*\/healthz/m]);
    expect(dockerfile).toMatch(/^ENV .*\bHOST=0\.0\.0\.0 PORT=8080 DATA_DIR=\/data$/m);
  });

  test("copies files that exist, and that .dockerignore lets through", () => {
    const allowed = readText(".dockerignore")
      .split("\n")
      .filter((line) => line.startsWith("!"))
      .map((line) => line.slice(1));
    const copied = lines
      .filter((line) => line.startsWith("COPY ") && !line.includes("--from"))
      .flatMap((line) => line.split(" ").slice(1, -1))
      .filter((path) => path !== "tocsin.yam[l]");
    expect(copied.length).toBeGreaterThan(6);
    for (const path of copied) {
      expect(existsSync(join(root, path)), path).toBe(true);
      expect(allowed, path).toContain(path);
    }
    expect(allowed).toContain("tocsin.yaml");
    expect(allowed.filter((path) => /\.env|^data|node_modules|^\.git/.test(path))).toEqual([]);
  });
});

describe("the container's entrypoint", () => {
  /** Runs the script with stand-ins for the programs that need root; each prints how it was called. */
  function runEntrypoint(options: { uid: number; dataDir?: string }): string[] {
    const folder = makeTempFolder();
    const app = join(folder, "app");
    const bin = join(folder, "bin");
    mkdirSync(join(app, "deploy"), { recursive: true });
    mkdirSync(bin);
    writeFileSync(join(app, "deploy", "container.sh"), readText("deploy/container.sh"), { mode: 0o755 });
    for (const name of ["id", "mkdir", "chmod", "find", "setpriv", "node"]) {
      const body = name === "id" ? `echo ${options.uid}` : `echo "${name} $*"`;
      writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`);
      chmodSync(join(bin, name), 0o755);
    }
    const { stdout, status, stderr } = spawnSync(join(app, "deploy", "container.sh"), ["setup", "--dry-run"], {
      encoding: "utf8",
      env: { PATH: `${bin}:/usr/bin:/bin`, ...(options.dataDir && { DATA_DIR: options.dataDir }) },
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    return stdout.trim().split("\n");
  }

  test("as root gives the volume to an ordinary user and becomes that user, for good", () => {
    const calls = runEntrypoint({ uid: 0, dataDir: "/data" });
    expect(calls).toEqual([
      "mkdir -p /data",
      "chmod 0700 /data",
      "find /data -xdev ! -user node -exec chown --no-dereference node:node {} +",
      "setpriv --reuid=node --regid=node --init-groups --inh-caps=-all --no-new-privs node bin/tocsin.js setup --dry-run",
    ]);
  });

  test.each(["/etc", "/", "/data/../etc", "data", "/database"])("gives away nothing of %s", (dataDir) => {
    const calls = runEntrypoint({ uid: 0, dataDir });
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatch(/^setpriv --reuid=node /);
  });

  test("as an ordinary user just runs", () => {
    expect(runEntrypoint({ uid: 1000 })).toEqual(["node bin/tocsin.js setup --dry-run"]);
  });
});

describe("the systemd units", () => {
  const service = readText("deploy/tocsin.service");
  const socket = readText("deploy/tocsin.socket");
  /** `Key=value` of a unit, the last of each key. */
  const settingsOf = (unit: string) =>
    new Map([...unit.matchAll(/^(\w+)=(.*)$/gm)].map(([, key, value]) => [key, value]));

  test("start again for ever as an ordinary user, and give a stop its time", () => {
    const execStart = "ExecStart=/usr/bin/env node bin/tocsin.js serve";
    for (const line of ["User=tocsin", "Restart=always", "StartLimitIntervalSec=0", execStart])
      expect(service.split("\n")).toContain(line);
    expect(service, "V8 writes code that it runs").not.toMatch(/MemoryDenyWriteExecute/);
  });

  test("let the relay write its database and its spool where the documents put them", () => {
    const unit = settingsOf(service);
    expect([unit.get("ProtectSystem"), unit.get("StateDirectory")]).toEqual(["strict", "tocsin"]);
    const texts = [...documentPaths, ".env.example", "deploy/tocsin.service"].map(readText).join("\n");
    const named = [...texts.matchAll(/\bSPOOL_DIR=(\/[\w/.-]*)/g)].map(([, folder]) => folder);
    expect(named.length).toBeGreaterThan(2);
    expect(new Set(named)).toEqual(new Set(["/var/lib/tocsin/spool"]));
  });

  test("leave the socket to systemd over restarts, never give it up, and let it be the relay's by default", () => {
    const { host, port } = loadConfig({ env: {}, cwd: root, readFile: () => undefined }).server;
    expect(settingsOf(service).get("Requires")).toBe("tocsin.socket");
    expect(settingsOf(service).get("After")?.split(" ")).toContain("tocsin.socket");
    expect(Object.fromEntries(settingsOf(socket))).toMatchObject({
      ListenStream: `${host}:${port}`,
      Backlog: "4096",
      TriggerLimitIntervalSec: "0",
      WantedBy: "sockets.target",
    });
    expect(socket, "a process for each connection").not.toMatch(/^Accept=/m);
  });

  test("are copied together, and stopped together where a start in between would do harm", () => {
    const shell = documentPaths.flatMap((path) => codeBlocks(readText(path), "sh"));
    expect(shell.filter((text) => text.includes("tocsin.service")).join()).toContain("deploy/tocsin.socket");
    const stops = shell
      .join("\n")
      .split("\n")
      .filter((line) => line.includes("systemctl stop"));
    expect(stops.length).toBeGreaterThan(0);
    expect(stops.filter((line) => !line.includes("tocsin.socket tocsin"))).toEqual([]);
  });
});

test("the proxy keeps bodies as large as the hook takes, and no connection that may end when an alert leaves", () => {
  expect(readText("deploy/Caddyfile")).toMatch(/keepalive off[\s\S]*lb_try_duration 30s[\s\S]*request_buffers 2MiB/);
});

test("the proxy in front of two relays looks more often than one drains, and asks some also when none says yes", () => {
  const path = "deploy/Caddyfile.relays";
  const caddyfile = readText(path);
  const lookS = numberIn(/health_interval (\d+)s/, path) + numberIn(/health_timeout (\d+)s/, path);
  expect(lookS).toBeLessThan(drainS);
  for (const words of [/health_uri \/readyz\?alerts/, /keepalive off/, /handle_errors/])
    expect(caddyfile).toMatch(words);
  expect(caddyfile, "what was sent is not sent again").not.toMatch(/lb_retry_match|retry_match/);
  expect(caddyfile.match(/relay-1:8080 relay-2:8080/g)).toHaveLength(2);
});

describe("the other proxies and supervisors", () => {
  const read = (name: string) => readText(`deploy/${name}`);

  test("are named in docs/deploy.md, each with its file", () => {
    const guide = readText("docs/deploy.md");
    // The image's own, and what `docker compose` finds by itself.
    const others = readdirSync(`${root}deploy`).filter((name) => !["container.sh", "compose.yaml"].includes(name));
    expect(others.filter((name) => !guide.includes(name))).toEqual([]);
  });

  test("keep no connection, take bodies of a hook, and send nothing again that was sent", () => {
    expect(read("nginx.conf")).toMatch(/proxy_http_version 1\.0;[\s\S]*proxy_next_upstream error timeout;/);
    expect(read("nginx.conf")).toMatch(/client_max_body_size 2m;/);
    expect(read("apache.conf")).toMatch(/LimitRequestBody 2097152[\s\S]*BalancerMember .* disablereuse=On /);
    expect(read("haproxy.cfg").match(/^\toption httpclose\n/gm)).toHaveLength(2);
    expect(read("haproxy.cfg").match(/^\tretry-on .*$/gm)).toEqual(Array(2).fill("\tretry-on conn-failure"));
  });

  test("look more often than a relay drains, and in HAProxy ask some relay also when none says yes", () => {
    expect(read("haproxy.cfg")).toMatch(/use_backend any_relay if { nbsrv\(relays\) eq 0 }/);
    expect(read("haproxy.cfg")).toContain("http-check send meth GET uri /readyz?alerts ver HTTP/1.1 hdr Host ");
    const path = "deploy/haproxy.cfg";
    const lookS = numberIn(/check inter (\d+)s fall 2/, path) + numberIn(/timeout check (\d+)s/, path);
    expect(2 * lookS - 1).toBeLessThanOrEqual(drainS);
    expect(read("apache.conf")).toContain("hcuri=/readyz?alerts hcinterval=1 hcfails=2 ");
    expect(read("nginx.conf")).toContain("health_check uri=/readyz?alerts interval=1s");
  });

  test("can be read, and hold the socket over a restart of the relay", () => {
    const [app] = createRequire(import.meta.url)(`${root}deploy/pm2.config.cjs`).apps;
    expect(existsSync(join(app.cwd, app.script))).toBe(true);
    expect(spawnSync("sh", ["-n", `${root}deploy/runit-run`]).status).toBe(0);
    for (const name of ["supervisord.conf", "runit-run", "pm2.config.cjs"])
      expect(read(name)).toContain("serve --supervised");
  });
});

describe("deploy/compose.yaml", () => {
  interface Service {
    image: string;
    environment: Record<string, string>;
    healthcheck: { test: string[] };
    [key: string]: unknown;
  }
  const compose = parse(readText("deploy/compose.yaml"), { merge: true }) as {
    services: Record<string, Service>;
    networks: Record<string, object | null>;
    volumes: Record<string, object | null>;
  };
  const { database, caddy, "relay-1": one, "relay-2": two } = compose.services as Record<string, Service>;

  test("has two relays that differ in name and volume alone, without root, with a disk that cannot be written", () => {
    expect({ ...one, hostname: "", volumes: [] }).toEqual({ ...two, hostname: "", volumes: [] });
    expect(one?.volumes).not.toEqual(two?.volumes);
    expect(one).toMatchObject({ read_only: true, user: "1000:1000", cap_drop: ["ALL"], restart: "always" });
    expect(one?.healthcheck.test.join(" ")).toContain("127.0.0.1:8080/healthz");
  });

  test("publishes no port but the proxy's, keeps the database from the internet, and lets it forget nothing", () => {
    expect(Object.keys(compose.services).filter((name) => compose.services[name]?.ports !== undefined)).toEqual([
      "caddy",
    ]);
    expect(database?.networks).toEqual(["back"]);
    expect(compose.networks.back).toEqual({ internal: true });
    expect(JSON.stringify(database?.command)).not.toMatch(/fsync|synchronous_commit|full_page_writes/);
    expect(database?.image).toMatch(/^postgres:1[4-9]$/);
    expect(Object.keys(compose.volumes)).toEqual(expect.arrayContaining(["database", "relay-1", "relay-2"]));
    expect(JSON.stringify(caddy?.volumes)).toContain("Caddyfile.relays");
  });

  test("gives the relays settings that they know, and that pass once the secrets are filled in", () => {
    const example = [...readText("deploy/compose.env.example").matchAll(/^([A-Z_]+)=(.*)$/gm)];
    const names = example.map(([, name = ""]) => name);
    expect(names).toEqual(expect.arrayContaining(["DOMAIN", "POSTGRES_PASSWORD", "WEBHOOK_SECRET", "ADMIN_TOKEN"]));
    expect(
      example.filter(([, , value]) => value !== ""),
      "no secret of ours",
    ).toEqual([]);
    const own = Object.keys(one?.environment ?? {});
    const strange = [...names, ...own].filter((name) => !(name in variables));
    expect(strange).toEqual(["DOMAIN", "POSTGRES_PASSWORD"]);
    const given = { DOMAIN: "alerts.example.com", POSTGRES_PASSWORD: strong } as Record<string, string>;
    const fill = (text: string) => text.replace(/\$\{(\w+)[^}]*\}/g, (_all, name: string) => given[name] ?? "");
    const env = Object.fromEntries(Object.entries(one?.environment ?? {}).map(([name, text]) => [name, fill(text)]));
    const image = { HOST: "0.0.0.0", PORT: "8080", DATA_DIR: "/data" };
    const all = { ...given, ...image, ...env, ...secrets };
    const { server, warnings } = loadConfig({ env: all, cwd: root, readFile: () => undefined });
    expect(server).toMatchObject({ publicUrl: "https://alerts.example.com", trustedProxies: ["172.31.214.0/24"] });
    expect(warnings.filter(({ where }) => where !== "TELEGRAM_CHAT_IDS")).toEqual([]);
  });
});

describe("deploy/kubernetes.yaml", () => {
  // biome-ignore lint/suspicious/noExplicitAny: a manifest is read for what is expected there
  const documents = parseAllDocuments(readText("deploy/kubernetes.yaml")).map((one) => one.toJS() as any);
  const named = (kind: string, name = "tocsin") =>
    documents.find((one) => one.kind === kind && one.metadata.name === name);
  const { spec } = named("Deployment");
  const pod = spec.template.spec;
  const [container] = pod.containers;
  const { data: settings } = named("ConfigMap");
  const { stringData: noSecrets } = named("Secret");
  const load = (changed: Record<string, string>) =>
    loadConfig({
      env: { HOST: "0.0.0.0", PORT: "8080", DATA_DIR: "/data", ...settings, ...noSecrets, ...changed },
      cwd: "/app",
      readFile: (path) =>
        path === settings.TOCSIN_CONFIG ? named("ConfigMap", "tocsin-file").data["tocsin.yaml"] : undefined,
    });

  test("keeps two relays, through upgrades and drained nodes, and never both on one node while there is another", () => {
    expect(spec).toMatchObject({
      replicas: 2,
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    });
    expect(named("PodDisruptionBudget").spec.minAvailable).toBe(1);
    for (const { labelSelector } of pod.topologySpreadConstraints)
      expect(labelSelector.matchLabels).toEqual(spec.template.metadata.labels);
    expect(spec.selector.matchLabels).toEqual(spec.template.metadata.labels);
    expect(named("Service").spec.selector).toEqual(spec.template.metadata.labels);
    expect(named("PodDisruptionBudget").spec.selector.matchLabels).toEqual(spec.template.metadata.labels);
  });

  test("asks the paths and the port that a relay has, sooner than it drains, and gives a stop its time", () => {
    const [{ containerPort, name: port }] = container.ports;
    expect(readText("Dockerfile")).toContain(`EXPOSE ${containerPort}`);
    const reference = readText("docs/reference.md");
    for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"]) {
      const { path, port: asked } = container[probe].httpGet;
      expect(asked).toBe(port);
      expect(reference).toContain(`| \`GET ${path.split("?")[0]}\` |`);
    }
    expect(container.readinessProbe.httpGet.path).toBe("/readyz?alerts");
    const pauseS = load({ DATABASE_URL: "postgres://db/tocsin", ...secrets }).server.drainMs / 1000;
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(pauseS + shutdownS + reserveS);
    const { port: servicePort } = named("Ingress").spec.rules[0].http.paths[0].backend.service;
    const [servicePorts] = named("Service").spec.ports;
    expect([servicePort.name, servicePorts.targetPort]).toEqual([servicePorts.name, port]);
  });

  test("runs without root and without rights, and writes nowhere but into its folders", () => {
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(pod).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
    const mounted = container.volumeMounts.map(({ name }: { name: string }) => name);
    expect(mounted).toEqual(pod.volumes.map(({ name }: { name: string }) => name));
    expect(settings.TOCSIN_CONFIG).toMatch(new RegExp(`^${container.volumeMounts[0].mountPath}/`));
  });

  test("starts no relay with the secrets that stand there, and does with one's own", () => {
    expect([...Object.keys(settings), ...Object.keys(noSecrets)].filter((name) => !(name in variables))).toEqual([]);
    const placesOf = (error: ConfigError) =>
      error.problems
        .map(({ where }) => where)
        .sort()
        .join();
    const isRefused = (error: ConfigError) => placesOf(error) === "ADMIN_TOKEN,DATABASE_URL,WEBHOOK_SECRET";
    expect(() => load({})).toThrow(expect.toSatisfy(isRefused));
    const { warnings } = load({ DATABASE_URL: "postgres://db/tocsin", ...secrets });
    expect(warnings.filter(({ where }) => where !== "TELEGRAM_CHAT_IDS")).toEqual([]);
  });
});
