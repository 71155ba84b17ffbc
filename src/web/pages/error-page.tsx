import { type AppError, httpStatusOf } from "../../core/errors.ts";
import type { Assets } from "../assets.ts";
import { setRetryAfter } from "../error-answer.ts";
import type { WebContext } from "../web-env.ts";
import { HtmlDocument } from "./layout.tsx";

/** A page that could not be made: what happened, what to do, and a way back. Tells nothing of the log. */
export function answerErrorPage(c: WebContext, error: AppError, assets: Assets) {
  setRetryAfter(c, error);
  return c.html(
    <HtmlDocument assets={assets} title={error.message}>
      <main class="login">
        <h1>{error.message}</h1>
        {error.hint && <p>{error.hint}</p>}
        <p>
          <a href="/">To the alert log</a>
        </p>
      </main>
    </HtmlDocument>,
    httpStatusOf(error.code),
  );
}
