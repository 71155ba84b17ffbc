import type { ChannelType } from "../core/delivery.ts";
import type { ConfigPath, ProblemList } from "./shape/problem-list.ts";

/** Options that are secret as a whole, so that a plain text there is one that was written into the file. */
const secretOptions: Readonly<Record<ChannelType, readonly string[]>> = {
  telegram: ["botToken"],
  email: ["smtpUrl"],
  webhook: ["secret"],
  slack: ["url"],
  discord: ["url"],
  ntfy: ["token"],
  apprise: ["urls"],
};

/** Tells each secret of a destination that is written out instead of referred to. */
export function refuseWrittenSecrets(
  type: ChannelType,
  value: object,
  path: ConfigPath,
  context: { problems: ProblemList; isReference(path: ConfigPath): boolean },
): void {
  const refuse = (at: ConfigPath, what: unknown, variable: string): void => {
    if (typeof what !== "string" || context.isReference(at) || context.problems.hasProblemAt(at)) return;
    const instead = `write \${${variable}} and set that environment variable`;
    context.problems.add(at, "is secret and does not belong in the file", instead);
  };
  const [, name] = path;
  const variableFor = (option: string): string =>
    `${name}_${option}`
      .replace(/([a-z])([A-Z])/g, "$1_$2")
      .replace(/\W+/g, "_")
      .toUpperCase();
  for (const option of secretOptions[type]) {
    const written: unknown = Reflect.get(value, option);
    if (Array.isArray(written)) {
      for (const [index, item] of written.entries())
        refuse([...path, option, index], item, variableFor(option));
    } else refuse([...path, option], written, variableFor(option));
  }
  const headers: unknown = Reflect.get(value, "headers");
  if (typeof headers !== "object" || headers === null) return;
  for (const [header, content] of Object.entries(headers)) {
    if (!/auth|token|key|secret|cookie|signature|password/i.test(header)) continue;
    refuse([...path, "headers", header], content, variableFor(header));
  }
}
