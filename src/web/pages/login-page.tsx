import type { Hono } from "hono";
import { AppError } from "../../core/errors.ts";
import { safeNext } from "../access/guard.ts";
import { tooManyTries } from "../access/token-check.ts";
import { setRetryAfter } from "../error-answer.ts";
import { readField, readForm } from "../form.ts";
import { type PageDeps, sessionOf, type WebContext, type WebEnv } from "../web-env.ts";
import { Hidden } from "./form-element.tsx";
import { HtmlDocument, Problem, statusOf } from "./layout.tsx";

/** With a code of `loginLink`, `GET /login` asks for one press of a button: a link preview uses no code up. */
export function addLoginPages(app: Hono<WebEnv>, deps: PageDeps): void {
  const { sessions, cookie, tokenCheck, networkOf, codes } = deps;

  function enter(c: WebContext, next: string) {
    cookie.write(c, sessions.start());
    return c.redirect(next, 303);
  }

  function refuse(c: WebContext, next: string, problem: AppError) {
    setRetryAfter(c, problem);
    return c.render(<LoginPage deps={deps} next={next} problem={problem} />, statusOf(problem));
  }

  app.get("/login", async (c) => {
    const code = c.req.query("code");
    const next = safeNext(c.req.query("next"));
    if (code !== undefined && !(await codes.isValid(code))) return refuse(c, next, usedCode);
    return c.render(<LoginPage deps={deps} next={next} code={code} />);
  });

  app.post("/login", async (c) => {
    const form = await readForm(c);
    const next = safeNext(readField(form, "next"));
    const code = readField(form, "code");
    if (code !== "") {
      const use = await codes.use(code).catch(unlessUnavailable);
      if (use === true) return enter(c, next);
      return refuse(c, next, use === false ? usedCode : unrecordedCode(use));
    }
    const verdict = await tokenCheck.judge(readField(form, "token"), () => networkOf(c));
    switch (verdict.kind) {
      case "right":
        return enter(c, next);
      case "limited":
        return refuse(c, next, tooManyTries(verdict.waitMs));
      case "wrong":
        deps.log.warn("login.refused", { address: networkOf(c) });
        return refuse(c, next, wrongToken);
      default:
        return verdict satisfies never;
    }
  });

  app.post("/logout", async (c) => {
    cookie.clear(c);
    const failure = await sessions.end(sessionOf(c)).catch(unlessUnavailable);
    if (failure !== undefined) throw unrecordedLogout(failure);
    return c.redirect("/login", 303);
  });
}

function unlessUnavailable(error: unknown): AppError {
  if (error instanceof AppError && error.code === "store_unavailable") return error;
  throw error;
}

function unrecorded(cause: AppError, message: string, hint: string): AppError {
  const { code, retryAfterMs } = cause;
  return new AppError(code, message, { hint: `${hint} ${cause.message}`, retryAfterMs, cause });
}

/** Without a record the link would work again after a restart, so it does not log in. */
const unrecordedCode = (cause: AppError) =>
  unrecorded(
    cause,
    "The login link was not taken: its use cannot be recorded now.",
    "Enter the admin token instead, which works all the same.",
  );

const unrecordedLogout = (cause: AppError) =>
  unrecorded(
    cause,
    "You are logged out, but that could not be recorded.",
    "After a restart of Tocsin a copy of this browser's cookie would count again, until it runs out. If somebody may " +
      "have one, set another ADMIN_TOKEN: it ends every session.",
  );

const usedCode = new AppError("forbidden", "This login link has been used or has run out.", {
  hint: "Links are good for 15 minutes and one login. Start Tocsin again for a new one, or enter the admin token.",
});

const wrongToken = new AppError("forbidden", "This is not the admin token.", {
  hint:
    "It is the value of ADMIN_TOKEN or, when none was set, secrets/admin-token: " +
    "a file in DATA_DIR, or a row of kept_records in PostgreSQL.",
});

interface LoginProps {
  deps: PageDeps;
  next: string;
  code?: string;
  problem?: AppError;
}

function LoginPage({ deps: { assets }, next, code, problem }: LoginProps) {
  return (
    <HtmlDocument assets={assets} title="Log in">
      <main class="login empty">
        <h1 class="row">
          <img src={assets.icon} alt="" width="28" height="28" />
          Tocsin
        </h1>
        <Problem error={problem} />
        <form method="post" action="/login" class="stack">
          <Hidden fields={{ next, code }} />
          {code === undefined ? <TokenField /> : <p>This link logs this browser in, once.</p>}
          <button type="submit" class="primary" autofocus={code !== undefined}>
            {code === undefined ? "Log in" : "Log in to the alert log"}
          </button>
        </form>
        {code === undefined && (
          <p class="soft">
            The token is the value of <code>ADMIN_TOKEN</code>, or <code>secrets/admin-token</code> in the data folder
            or database. <code>tocsin serve</code> prints a login link when it starts.
          </p>
        )}
      </main>
    </HtmlDocument>
  );
}

function TokenField() {
  return (
    <>
      {/* Lets password managers keep the token. */}
      <input type="text" name="username" value="admin" autocomplete="username" hidden />
      <label>
        Admin token
        <input type="password" name="token" autocomplete="current-password" required autofocus spellcheck={false} />
      </label>
    </>
  );
}
