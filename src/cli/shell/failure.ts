import { AppError, exitStatusOf } from "../../core/errors.ts";
import { type CliContext, OutputClosed, writeText } from "./context.ts";
import { asAppError, createStyle, DocumentedFailure, errorDocument, terminalLines } from "./output.ts";
import { asTyped } from "./own-command.ts";

/** Prints on stderr, with `--json` also on stdout. A stack is only shown with `LOG_LEVEL=debug` or `trace`. */
export async function reportFailure(thrown: unknown, context: CliContext, json: boolean): Promise<0 | 1 | 2> {
  if (thrown instanceof OutputClosed) return 0;
  const error = asAppError(thrown);
  // Where nobody reads, or the disk is full, the exit status is enough.
  await writeText(context.stderr, describeFailure(error, thrown, context)).catch(() => {});
  if (json && !(thrown instanceof DocumentedFailure)) {
    await writeText(context.stdout, `${JSON.stringify({ error: errorDocument(error) })}\n`).catch(() => {});
  }
  return exitStatusOf(error.code);
}

/** For `catch` after reading or writing a file. `what`: the intended action. */
export function fileFailure(code: "usage" | "failed", what: string, hint?: string) {
  return (cause: NodeJS.ErrnoException): never => {
    if (cause instanceof AppError) throw cause;
    throw new AppError(code, `${what} (${cause.code ?? "unknown"})`, { hint, cause });
  };
}

function describeFailure(error: AppError, thrown: unknown, context: CliContext): string {
  const style = createStyle(context.env, context.isTty.stderr);
  const lines = [`${style("red", "error:")} ${terminalLines(error.message)}`];
  if (error.hint !== undefined)
    lines.push(`${style("dim", "hint:")}  ${terminalLines(asTyped(error.hint, context.ownCommand))}`);
  const wantsStack = context.env.LOG_LEVEL === "debug" || context.env.LOG_LEVEL === "trace";
  // The cause of an expected error may come from a library, and contain secrets.
  const defect = error.code === "internal" && error.cause instanceof Error ? error.cause : thrown;
  if (wantsStack && defect instanceof Error) lines.push(defect.stack ?? "");
  return `${lines.join("\n")}\n`;
}
