import { AppError, exitStatusOf } from "../../core/errors.ts";
import { type CliContext, OutputClosed, writeText } from "./context.ts";
import { asAppError, createStyle, DocumentedFailure, errorDocument, terminalLines } from "./output.ts";
import { asTyped } from "./own-command.ts";

/**
 * Prints a failure as one clear line (and a hint) on stderr, and with `--json` as the one document on stdout.
 * A stack is shown with `LOG_LEVEL=debug` or `trace` only. Returns the exit status.
 */
export async function reportFailure(thrown: unknown, context: CliContext, json: boolean): Promise<0 | 1 | 2> {
  if (thrown instanceof OutputClosed) return 0;
  const error = asAppError(thrown);
  // Where nobody reads, or the disk is full, the exit status alone says it.
  await writeText(context.stderr, describeFailure(error, thrown, context)).catch(() => {});
  if (json && !(thrown instanceof DocumentedFailure)) {
    await writeText(context.stdout, `${JSON.stringify({ error: errorDocument(error) })}\n`).catch(() => {});
  }
  return exitStatusOf(error.code);
}

/** For `catch` of what reads or writes a file: `what` was to happen, with the system's word for why it did not. */
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
  // The cause of an expected error may be a library's, and hold what must not be shown.
  const defect = error.code === "internal" && error.cause instanceof Error ? error.cause : thrown;
  if (wantsStack && defect instanceof Error) lines.push(defect.stack ?? "");
  return `${lines.join("\n")}\n`;
}
