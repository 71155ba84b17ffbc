import { spawnSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";

const policy = "/usr/sbin/policy-rc.d";

/** Installs what is missing. Undefined: all is there; else a line that says how to get it. */
export function findMissing(packages: readonly string[]): string | undefined {
  const missing = packages.filter((name) => spawnSync("dpkg", ["-s", name]).status !== 0);
  if (missing.length === 0) return isRoot() ? undefined : "Run this as root: Postfix needs it.";
  const how = `sudo apt-get install ${missing.join(" ")}`;
  if (!isRoot()) return `Missing here: ${missing.join(", ")}. Install them (${how}) and run this as root.`;
  // Their own services are to stay off.
  const isMine = !existsSync(policy);
  if (isMine) writeFileSync(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    spawnSync("apt-get", ["update"], { env });
    const { status, stderr } = spawnSync("apt-get", ["install", "-y", "--no-install-recommends", ...missing], { env });
    return status === 0 ? undefined : `${how} failed: ${String(stderr).trim().split("\n").at(-1)}`;
  } finally {
    if (isMine) rmSync(policy);
  }
}

const isRoot = () => process.getuid?.() === 0;
