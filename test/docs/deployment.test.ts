import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/load-config.ts";
import { defaultDeliverySettings } from "../../src/core/delivery-settings.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { codeBlocks, readText, root } from "./documents.ts";

const shutdownS = defaultDeliverySettings().shutdownMs / 1000;

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
    expect(Number(settings.get("kill_timeout"))).toBeGreaterThanOrEqual(shutdownS + 5);
  });
});

describe("the Dockerfile", () => {
  const dockerfile = readText("Dockerfile").replace(/\\\n/g, " ");
  const lines = dockerfile.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

  test("starts Tocsin itself with no npm and no shell between that would keep signals from it, open to others", () => {
    expect(lines.slice(-2)).toEqual(['ENTRYPOINT ["tocsin"]', 'CMD ["serve", "--supervised"]']);
    expect(dockerfile).toMatch(/ln -s \/app\/deploy\/container\.sh \/usr\/local\/bin\/tocsin/);
    expect(dockerfile).toMatch(/^STOPSIGNAL SIGTERM$/m);
    expect(dockerfile).toMatch(/^VOLUME \/data$/m);
    expect(dockerfile).toMatch(/^HEALTHCHECK .*\/healthz/m);
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
    expect(Number(settingsOf(service).get("TimeoutStopSec"))).toBeGreaterThanOrEqual(shutdownS + 5);
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
    const shell = [
      ...codeBlocks(readText("docs/deploy.md"), "sh"),
      ...codeBlocks(readText("docs/operations.md"), "sh"),
    ];
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
