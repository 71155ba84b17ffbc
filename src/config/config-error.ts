import { AppError } from "../core/errors.ts";

/** One mistake, told so that it can be corrected without reading anything else. Holds no secret. */
export interface ConfigProblem {
  /** `tocsin.yaml:12:5`, or the name of an environment variable. */
  where: string;
  /** The option, e.g. `destinations.ops.chatId`. */
  path?: string;
  /** What is wrong. */
  message: string;
  /** What to write instead. */
  instead?: string;
}

/** All mistakes of a configuration at once. */
export class ConfigError extends AppError {
  readonly problems: ConfigProblem[];

  constructor(problems: ConfigProblem[]) {
    const count = problems.length === 1 ? "a mistake" : `${problems.length} mistakes`;
    super("config_invalid", [`the configuration has ${count}:`, ...problems.map(formatProblem)].join("\n"), {
      hint: "nothing was started; correct this, and see with `tocsin check` whether all is well",
    });
    this.name = "ConfigError";
    this.problems = problems;
  }
}

/** `tocsin.yaml:12:5  destinations.ops.chatId: …` and, indented on a second line, what to write instead. */
export function formatProblem({ where, path, message, instead }: ConfigProblem): string {
  const what = path === undefined || path === where ? message : `${path}: ${message}`;
  const line = `  ${where}  ${what}`;
  return instead === undefined ? line : `${line}\n      ${instead}`;
}
