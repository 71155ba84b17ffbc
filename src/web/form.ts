import { AppError } from "../core/errors.ts";
import type { WebContext } from "./web-env.ts";

/** Each field may come several times. */
export type SentForm = Record<string, string | File | (string | File)[]>;

/** @throws AppError `invalid_request` for a body that claims to be a form and is not. */
export async function readForm(c: WebContext): Promise<SentForm> {
  try {
    return await c.req.parseBody({ all: true });
  } catch (error) {
    throw new AppError("invalid_request", "The form cannot be read.", {
      hint: "Open the page again and send it from there.",
      cause: error,
    });
  }
}

export function readField(form: SentForm, name: string): string {
  return readFields(form, name)[0] ?? "";
}

export function readFields(form: SentForm, name: string): string[] {
  const given = form[name];
  const values = Array.isArray(given) ? given : [given];
  return values.filter((value) => typeof value === "string").map((value) => value.trim());
}

/** Acts on a form. A refused form shows the page again, with the reason and the typed text. */
export async function orProblem(
  act: () => Promise<Response>,
  showAgain: (problem: AppError) => Response | Promise<Response>,
): Promise<Response> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof AppError) return showAgain(error);
    throw error;
  }
}
