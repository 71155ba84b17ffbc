import { loadConfig } from "../../config/load-config.ts";
import { ConfigError } from "../../config/shape/problem-list.ts";
import type { CliContext } from "../shell/context.ts";
import type { AskedNames } from "./completion.ts";

/** Empty for a configuration with mistakes: whoever presses Tab asks for no list of them. */
export function listNames({ env, cwd }: Pick<CliContext, "env" | "cwd">, of: AskedNames): string[] {
  try {
    const { rules, sources } = loadConfig({ env, cwd });
    return (of === "destinations" ? rules.destinations : sources).map(({ name }) => name);
  } catch (error) {
    if (error instanceof ConfigError) return [];
    throw error;
  }
}
