import { AppError } from "../../core/errors.ts";
import { canAsk } from "../shell/confirm.ts";
import type { CliContext } from "../shell/context.ts";
import { terminalText } from "../shell/terminal-text.ts";

/** Questions on stderr. Each throws `cancelled` at Ctrl-C or Escape, and what the context's signal is aborted with. */
export interface Prompts {
  select<T extends string>(message: string, options: readonly { value: T; label: string }[]): Promise<T>;
  text(message: string, options: TextOptions): Promise<string>;
  /** Nothing of what is typed is shown. */
  secret(message: string, check: Check): Promise<string>;
  confirm(message: string): Promise<boolean>;
}

/** Why a value cannot be taken. */
type Check = (value: string) => string | undefined;

interface TextOptions {
  check: Check;
  placeholder?: string;
  /** What Enter alone means. */
  initial?: string;
}

/** Undefined where nobody can be asked. @param stopped what is said at Ctrl-C */
export async function openPrompts(context: CliContext, stopped: string): Promise<Prompts | undefined> {
  if (!canAsk(context)) return undefined;
  const clack = await import("@clack/prompts");
  const common = {
    input: context.stdin as NodeJS.ReadStream,
    output: context.stderr as NodeJS.WriteStream,
    signal: context.signal,
  };
  function answered<T>(answer: T): Exclude<T, symbol> {
    if (context.signal.aborted) throw context.signal.reason;
    if (clack.isCancel(answer)) throw new AppError("cancelled", stopped);
    return answer as Exclude<T, symbol>;
  }
  const validating = (check: Check) => (value: string | undefined) => {
    const why = check((value ?? "").trim());
    return why === undefined ? undefined : terminalText(why);
  };
  return {
    async select<T extends string>(message: string, options: readonly { value: T; label: string }[]) {
      const choices: { value: string; label: string }[] = [...options];
      return answered(await clack.select({ ...common, message, options: choices })) as T;
    },
    async text(message, { check, placeholder, initial }) {
      const validate = validating((value) => check(value === "" ? (initial ?? "") : value));
      const answer = await clack.text({
        ...common,
        message,
        placeholder: placeholder ?? initial,
        defaultValue: initial,
        validate,
      });
      return answered(answer).trim();
    },
    async secret(message, check) {
      return answered(await clack.password({ ...common, message, validate: validating(check) })).trim();
    },
    async confirm(message) {
      return answered(await clack.confirm({ ...common, message: terminalText(message) }));
    },
  };
}
