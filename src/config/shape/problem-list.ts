import { AppError } from "../../core/errors.ts";
import { createRedactor, secretForms } from "../../ground/text/redact.ts";
import { type Env, envText, type RefuseVariable, variables } from "../variables.ts";

/** One mistake, with all that people need to correct it. Holds no secret. */
export interface ConfigProblem {
  /** `tocsin.yaml:12:5`, or the name of an environment variable. */
  where: string;
  /** The option, e.g. `destinations.ops.chatId`. */
  path?: string;
  message: string;
  instead?: string;
}

export class ConfigError extends AppError {
  readonly problems: ConfigProblem[];

  /** @param file the named file; default: the usual one */
  constructor(problems: ConfigProblem[], file?: string) {
    const count = problems.length === 1 ? "a mistake" : `${problems.length} mistakes`;
    super("config_invalid", [`the configuration has ${count}:`, ...problems.map(formatProblem)].join("\n"), {
      hint: `nothing was started; correct this, and see with \`tocsin check${file ? ` --config ${file}` : ""}\` whether all is well`,
    });
    this.name = "ConfigError";
    this.problems = problems;
  }
}

/** `tocsin.yaml:12:5  destinations.ops.chatId: …` and, indented on a second line, the correct form. */
export function formatProblem(problem: ConfigProblem): string {
  const { where, instead } = problem;
  const line = `  ${where}  ${whatOf(problem)}`;
  return instead === undefined ? line : `${line}\n      ${instead}`;
}

export const whatOf = ({ where, path, message }: ConfigProblem): string =>
  path === undefined || path === where ? message : `${path}: ${message}`;

/** The problem in one line: `tocsin.yaml:12:5: destinations.ops.chatId: … (the correct form)`. */
export const lineOf = (problem: ConfigProblem): string => {
  const { where, instead } = problem;
  return `${where}: ${whatOf(problem)}${instead === undefined ? "" : ` (${instead})`}`;
};

/** Keys and list positions from the top of the file. */
export type ConfigPath = (string | number)[];

/** Finds the line of an option: of its value, or of its name where the name is wrong. */
export type Locate = (path: ConfigPath, part: "key" | "value") => string;

export type ProblemList = ReturnType<typeof createProblemList>;

/**
 * Nothing is thrown before the end.
 * @param found mistakes of the file's text. Each place keeps only its first mistake, as later ones follow from it
 * @param isReference whether the text at this place comes, at least in part, from the environment
 */
export function createProblemList(
  locate: Locate,
  found: readonly ConfigProblem[],
  isReference: (path: ConfigPath) => boolean = () => false,
) {
  const problems: ConfigProblem[] = [...found];
  const warnings: ConfigProblem[] = [];
  const places = new Set(found.map(({ path }) => path));
  return {
    problems,
    warnings,
    add(path: ConfigPath, message: string, instead?: string, part: "key" | "value" = "value"): void {
      const place = formatPath(path);
      if (place !== "" && places.has(place)) return;
      places.add(place);
      problems.push({ where: locate(path, part), message, path: place || undefined, instead });
    },
    addEnv(name: string, message: string, instead?: string): void {
      problems.push({ where: name, message, instead });
    },
    /** Takes problems from the readers of variables. */
    refuseVariable: ((name, { message, instead }) => {
      problems.push({ where: name, message, instead });
    }) satisfies RefuseVariable,
    /** Reports a setting that works, but perhaps not as meant. */
    warn(where: string, message: string, instead?: string): void {
      warnings.push({ where, message, instead });
    },
    /** `tocsin.yaml:12:5` */
    whereIs: (path: ConfigPath) => locate(path, "key"),
    hasEnvProblem: (name: string) => problems.some((problem) => problem.where === name),
    isReference,
  };
}

/** `routes[0].match["payload.a"]` */
export function formatPath(path: ConfigPath): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    if (!/^[A-Za-z_][\w-]*$/.test(step)) return `${text}[${JSON.stringify(step)}]`;
    return text === "" ? step : `${text}.${step}`;
  }, "");
}

const secretVariables = Object.entries(variables).flatMap(([name, one]) => ("secret" in one ? [name] : []));

/** Shorter texts would mask ordinary words, and no real secret is as short. */
const leastLength = 6;

/** The mark of `showValue` for a shortened value. */
const cut = "…";

/** A report must not repeat a secret that is in the wrong option. Every value from the environment counts as secret. */
export function maskSecrets(problems: ConfigProblem[], env: Env, referencedValues: string[]): ConfigProblem[] {
  const secrets = [...secretVariables.map((name) => envText(env, name) ?? ""), ...referencedValues];
  const redact = createRedactor(secrets, { leastLength });
  const mask = (text: string): string => {
    const masked = redact(text);
    return masked.includes(cut) ? secrets.flatMap(secretForms).reduce(maskBeginning, masked) : masked;
  };
  return problems.map((problem) => ({
    ...problem,
    message: mask(problem.message),
    instead: problem.instead && mask(problem.instead),
  }));
}

/** Masks the beginning of a secret: a shortened value may be cut within it. */
function maskBeginning(text: string, secret: string): string {
  let masked = text;
  for (let length = secret.length - 1; length >= leastLength; length -= 1)
    masked = masked.replaceAll(`${secret.slice(0, length)}${cut}`, `***${cut}`);
  return masked;
}
