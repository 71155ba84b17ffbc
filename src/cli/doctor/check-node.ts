import type { Finding } from "./finding.ts";

const least = { major: 20, minor: 19 };

/** `engines` in package.json says the same. */
export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isEnough = major > least.major || (major === least.major && minor >= least.minor);
  if (isEnough) return { check: "Node", verdict: "ok", detail: version };
  return {
    check: "Node",
    verdict: "problem",
    detail: `${version} is older than ${least.major}.${least.minor}`,
    mend: "install a current long-term release of Node",
  };
}
