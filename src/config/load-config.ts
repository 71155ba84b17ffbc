import { existsSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { Config } from "./config.ts";
import { readConfig, type Written } from "./read-config.ts";
import { ConfigError } from "./shape/problem-list.ts";
import { type Env, envText } from "./variables.ts";

export interface LoadOptions extends Pick<Written, "env" | "cwd" | "inspectDataDir"> {
  /** Returns `undefined` for a missing file. Default: reads from the file system. */
  readFile?: (path: string) => string | undefined;
  /** The text of the YAML file. Default: it is read. */
  fileText?: string;
}

const defaultFile = "tocsin.yaml";

/** Throws one `ConfigError` with all mistakes. Neither the error nor the warnings hold a secret. */
export function loadConfig({ env, cwd, readFile = readTextFile, fileText, inspectDataDir }: LoadOptions): Config {
  const envFile = readFile(join(cwd, ".env"));
  const file = openFile(env, cwd, (path) => fileText ?? readFile(path));
  const { config, mistakes } = readConfig({ env, cwd, envFile, inspectDataDir, ...file });
  if (mistakes !== undefined) throw new ConfigError(mistakes, envText(env, "TOCSIN_CONFIG"));
  return config;
}

function readTextFile(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

function openFile(
  env: Env,
  cwd: string,
  readFile: (path: string) => string | undefined,
): Pick<Written, "file" | "mistakes"> {
  const named = envText(env, "TOCSIN_CONFIG");
  const path = resolve(cwd, named ?? defaultFile);
  const inside = relative(cwd, path);
  const name = inside === "" || inside.startsWith("..") ? path : inside;
  try {
    const text = readFile(path);
    if (text !== undefined) return { file: { text, path, name } };
    if (named === undefined) return {};
    const message = `there is no file ${name}`;
    const instead = "correct the path (in TOCSIN_CONFIG or after --config), or leave it out";
    return { mistakes: [{ where: "TOCSIN_CONFIG", message, instead }] };
  } catch (error) {
    const why = error instanceof Error && "code" in error ? String(error.code) : "unreadable";
    const [message, instead] =
      why === "EISDIR"
        ? ["this is a folder, not a file", "name a file"]
        : [`the file cannot be read (${why})`, "check its permissions"];
    return { mistakes: [{ where: name, message, instead }] };
  }
}
