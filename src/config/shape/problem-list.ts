import type { ConfigProblem } from "../config-error.ts";

/** Keys and list positions from the top of the file. */
export type ConfigPath = (string | number)[];

/** Finds the line of an option: of its value, or of its name where the name itself is wrong. */
export type Locate = (path: ConfigPath, part: "key" | "value") => string;

/** Gathers mistakes and warnings while the configuration is read; nothing is thrown before all is read. */
export interface ProblemList {
  /** A mistake in the file. */
  add(path: ConfigPath, message: string, instead?: string, part?: "key" | "value"): void;
  /** A mistake in an environment variable. */
  addEnv(name: string, message: string, instead?: string): void;
  /** Works, but perhaps not as meant. */
  warn(where: string, message: string, instead?: string): void;
  /** `tocsin.yaml:12:5` */
  whereIs(path: ConfigPath): string;
  hasProblemAt(path: ConfigPath): boolean;
  hasEnvProblem(name: string): boolean;
  readonly problems: ConfigProblem[];
  readonly warnings: ConfigProblem[];
}

/** `found`: mistakes of the file's text; what follows from one of them at the same place is not told again. */
export function createProblemList(locate: Locate, found: readonly ConfigProblem[]): ProblemList {
  const told = new Set(found.map((problem) => problem.path));
  const problems: ConfigProblem[] = [...found];
  const warnings: ConfigProblem[] = [];
  return {
    problems,
    warnings,
    add: (path, message, instead, part = "value") => {
      if (told.has(formatPath(path))) return;
      problems.push(compact({ where: locate(path, part), path: formatPath(path), message, instead }));
    },
    addEnv: (name, message, instead) => {
      problems.push(compact({ where: name, message, instead }));
    },
    warn: (where, message, instead) => {
      warnings.push(compact({ where, message, instead }));
    },
    whereIs: (path) => locate(path, "key"),
    hasEnvProblem: (name) => problems.some((problem) => problem.where === name),
    hasProblemAt: (path) => problems.some((problem) => problem.path === formatPath(path)),
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

function compact(problem: ConfigProblem): ConfigProblem {
  const { path, instead, ...rest } = problem;
  return {
    ...rest,
    ...(path === undefined || path === "" ? {} : { path }),
    ...(instead === undefined ? {} : { instead }),
  };
}
