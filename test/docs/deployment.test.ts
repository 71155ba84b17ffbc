import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { defaultDeliverySettings } from "../../src/core/delivery-settings.ts";
import { makeTempFolder } from "../support/temp-folder.ts";
import { readText, root } from "./documents.ts";

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

  test.each([
    ["kill_signal", '"SIGTERM"', "the default, SIGINT, is not what other supervisors send"],
    ["http_service.auto_stop_machines", '"off"', "an idle machine still has retries to send"],
    ["http_service.min_machines_running", "1", "the same"],
    ["http_service.force_https", "true", "the hook's secret is in the address"],
    ["restart.policy", '"always"', "a relay that has given up loses alerts"],
    ["deploy.strategy", '"rolling"', "a volume belongs to one machine"],
    ["mounts.destination", '"/data"', "DATA_DIR of the image"],
    ["env.DATA_DIR", '"/data"', "the volume"],
    ["env.HOST", '"0.0.0.0"', "the proxy comes from outside"],
    ["http_service.checks.path", '"/healthz"', "answers 200 without a redirect or a login"],
  ])("%s is %s: %s", (name, value) => {
    expect(settings.get(name)).toBe(value);
  });

  test("gives a stop more time than a stop may take", () => {
    expect(Number(settings.get("kill_timeout"))).toBeGreaterThanOrEqual(shutdownS + 5);
  });

  test("keeps snapshots and extends the volume by itself", () => {
    expect(Number(settings.get("mounts.snapshot_retention"))).toBeGreaterThan(5);
    for (const name of ["threshold", "increment", "limit"])
      expect(settings.has(`mounts.auto_extend_size_${name}`)).toBe(true);
  });

  test("sends the proxy to the port that is listened on, and has no release command without a volume", () => {
    expect(settings.get("env.PORT")).toBe(`"${settings.get("http_service.internal_port")}"`);
    expect([...settings.keys()].filter((name) => name.includes("release_command"))).toEqual([]);
  });
});

describe("the Dockerfile", () => {
  const dockerfile = readText("Dockerfile").replace(/\\\n/g, " ");
  const lines = dockerfile.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const [, build = "", final = ""] = lines.join("\n").split(/^FROM node:24-bookworm-slim.*$/m);

  test("compiles in one stage and ships the other", () => {
    expect(build).toMatch(/g\+\+ make python3/);
    expect(final).not.toMatch(/apt-get|npm|g\+\+/);
    expect(final).toMatch(/^COPY --from=build \/app\/node_modules node_modules$/m);
  });

  test("starts Tocsin itself, with no npm and no shell in between that would keep signals from it", () => {
    expect(final).toMatch(/^ENTRYPOINT \["tocsin"\]$/m);
    expect(final).toMatch(/^CMD \["serve"\]$/m);
    expect(final).toMatch(/^STOPSIGNAL SIGTERM$/m);
    expect(final).toMatch(/ln -s \/app\/deploy\/container\.sh \/usr\/local\/bin\/tocsin/);
  });

  test("listens for others, keeps its data on the volume, and is asked whether it lives", () => {
    expect(final).toMatch(/^ENV .*\bHOST=0\.0\.0\.0 PORT=8080 DATA_DIR=\/data$/m);
    expect(final).toMatch(/^VOLUME \/data$/m);
    expect(final).toMatch(/^HEALTHCHECK .*\/healthz/m);
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

describe("the systemd unit", () => {
  const unit = readText("deploy/tocsin.service");

  test("runs as an ordinary user, starts again for ever, and gives a stop its time", () => {
    expect(unit).toMatch(/^User=tocsin$/m);
    expect(unit).toMatch(/^Restart=always$/m);
    expect(unit).toMatch(/^StartLimitIntervalSec=0$/m);
    expect(unit).toMatch(/^ExecStart=\/usr\/bin\/env node bin\/tocsin\.js serve$/m);
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThanOrEqual(shutdownS + 5);
  });

  test("allows what V8 needs", () => {
    expect(unit).not.toMatch(/MemoryDenyWriteExecute/);
  });
});

test("the proxy keeps bodies as large as the hook takes, so that alerts wait for a restart", () => {
  const caddyfile = readText("deploy/Caddyfile");
  expect(caddyfile).toMatch(/lb_try_duration 30s/);
  expect(caddyfile).toMatch(/request_buffers 2MiB/);
});
