import { mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startCommand } from "../support/cli.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const bin = new URL("../../bin/tocsin.js", import.meta.url).pathname;

/** Starts the built program through a shell with `umask 000`, and stops it as soon as it says where it listens. */
async function runLoosely(argv: string[], env: Record<string, string>, cwd: string) {
  const loosely = ["sh", "-c", 'umask 000; exec "$0" "$@"', process.execPath, bin, ...argv];
  const { child, ended } = startCommand(loosely, { cwd, env: { HOME: cwd, ...env } });
  if (argv[0] === "serve") child.stdout?.once("data", () => child.kill("SIGTERM"));
  const { status, stdout, stderr } = await ended;
  return { status, stdout, output: stdout + stderr };
}

function modesBelow(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return Object.fromEntries(names.map((name) => [name, modeOf(join(folder, name))]));
}

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

/** Item 16. */
it("leaves nothing that others may read after a first start, whatever the umask and the folder's own mode", async () => {
  for (const made of [false, true]) {
    const cwd = makeTempFolder();
    const dataDir = join(cwd, "data");
    if (made) mkdirSync(dataDir, { mode: 0o777 });
    const env = { DATA_DIR: dataDir, PORT: "0" };
    const run = await runLoosely(["serve", "--json"], env, cwd);
    expect(run, run.output).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\{"data"/) });
    const backup = await runLoosely(["backup", join(dataDir, "copy.db")], env, cwd);
    expect(backup.status, backup.output).toBe(0);

    const modes = modesBelow(dataDir);
    expect(Object.keys(modes)).toEqual(
      expect.arrayContaining(["tocsin.db", "tocsin.lock", "copy.db", "secrets/admin-token", "secrets/webhook-secret"]),
    );
    if (!made) expect(modeOf(dataDir)).toBe("700");
    expect(modes.secrets).toBe("700");
    const { secrets: _, ...files } = modes;
    expect(new Set(Object.values(files)), JSON.stringify(files)).toEqual(new Set(["600"]));
  }
});

/** Item 17; which tokens are weak, and where others can reach a relay, is the business of test/config/environment.test.ts. */
it("does not start with tokens that can be guessed where others can reach it", async () => {
  const cwd = makeTempFolder();
  const weak = { ADMIN_TOKEN: "changeme-changeme-changeme", WEBHOOK_SECRET: "short-1Kx9" };
  const env = { DATA_DIR: join(cwd, "data"), PORT: "0", HOST: "0.0.0.0", ...weak };
  const { status, output } = await runLoosely(["serve", "--json"], env, cwd);
  expect(status, output).toBe(2);
  for (const [name, token] of Object.entries(weak)) {
    expect(output).toContain(name);
    expect(output).not.toContain(token);
  }
  expect(readdirSync(cwd)).toEqual([]);
});
