import { AppError } from "../../core/errors.ts";
import { canAsk } from "../shell/confirm.ts";
import type { CliContext } from "../shell/context.ts";
import { terminalText } from "../shell/output.ts";

interface TextOptions {
  /** Returns the reason against a value. */
  check(value: string): string | undefined;
  placeholder?: string;
  /** The value when Enter alone is pressed. */
  initial?: string;
}

/** Questions on stderr. Each throws `cancelled` at Ctrl-C or Escape, and the reason of the context's aborted signal. */
export type Prompts = NonNullable<Awaited<ReturnType<typeof openPrompts>>>;

/** Undefined where nobody can be asked. @param stopped the message at Ctrl-C */
export async function openPrompts(context: CliContext, stopped: string) {
  if (!canAsk(context)) return undefined;
  const clack = await import("@clack/prompts");
  const common = {
    input: context.stdin as NodeJS.ReadStream,
    output: context.stderr as NodeJS.WriteStream,
    signal: context.signal,
  };
  async function answered<T>(asked: Promise<T>): Promise<Exclude<T, symbol>> {
    const answer = await asked;
    if (context.signal.aborted) throw context.signal.reason;
    if (clack.isCancel(answer)) throw new AppError("cancelled", stopped);
    return answer as Exclude<T, symbol>;
  }
  return {
    select: async <T extends string>(message: string, options: { value: T; label: string }[]) =>
      (await answered(clack.select<string>({ ...common, message, options }))) as T,
    text: async (message: string, { check, placeholder, initial }: TextOptions) => {
      const hints = { placeholder: placeholder ?? initial, defaultValue: initial };
      const validate = (value = "") => {
        const why = check((value || (initial ?? "")).trim());
        return why === undefined ? undefined : terminalText(why);
      };
      return (await answered(clack.text({ ...common, message, ...hints, validate }))).trim();
    },
    secret: async (message: string) => (await answered(clack.password({ ...common, message }))).trim(),
    confirm: (message: string) => answered(clack.confirm({ ...common, message: terminalText(message) })),
  };
}

/** @throws AppError `usage` for a missing value where nobody can be asked */
export function ask(prompts: Prompts | undefined, missing: string, hint: string): Prompts {
  if (prompts !== undefined) return prompts;
  throw new AppError("usage", missing, { hint });
}
